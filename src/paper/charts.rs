//! Draws the paper's numbers beside ours, as SVG. Equal input gives equal bytes.

use crate::measure::report::chart::{self, COLOURS, DrawingError, IN_MEMORY, LABEL_FONT, Series, TITLE_FONT, WIDTH, finish};
use plotters::prelude::*;

/// A drawn chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The name of its file.
    pub file: &'static str,
    pub title: String,
    pub svg: String,
}

/// Whose numbers a bar shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    name: &'static str,
    colour: RGBColor,
}

pub const THEIRS: Owner = Owner { name: "paper", colour: COLOURS[0] };
pub const OURS: Owner = Owner { name: "chordal", colour: COLOURS[1] };

/// Pairs of horizontal bars, the paper's above ours.
pub struct Bars {
    file: &'static str,
    title: String,
    /// The quantity and its unit.
    axis: &'static str,
    groups: Vec<(String, [(Owner, f64); 2])>,
}

impl Bars {
    pub fn new(file: &'static str, title: &str, axis: &'static str) -> Self {
        Bars { file, title: title.to_owned(), axis, groups: Vec::new() }
    }

    /// Adds a pair of bars below the others.
    pub fn group(&mut self, label: &str, bars: [(Owner, f64); 2]) {
        self.groups.push((label.to_owned(), bars));
    }

    /// The chart, if it has any bars.
    pub fn draw(&self) -> Option<Chart> {
        if self.groups.is_empty() {
            return None;
        }
        let mut svg = String::new();
        self.draw_into(&mut svg).expect(IN_MEMORY);
        Some(Chart { file: self.file, title: self.title.clone(), svg })
    }

    fn draw_into(&self, svg: &mut String) -> Result<(), DrawingError> {
        let bars = chart::Bars {
            title: self.title.clone(),
            axis: self.axis.to_owned(),
            labels: 210,
            series: [THEIRS, OURS].map(|owner| Series { name: owner.name.to_owned(), colour: owner.colour }).into(),
            groups: self.groups.iter().map(|(label, bars)| (label.clone(), bars.map(|(_, value)| Some(value)).into())).collect(),
        };
        let area = SVGBackend::with_string(svg, (WIDTH, bars.height())).into_drawing_area();
        area.fill(&WHITE)?;
        bars.draw(&area)?;
        area.present()?;
        Ok(())
    }
}

/// Lines of points over a number of registers.
pub struct Lines {
    file: &'static str,
    title: &'static str,
    axes: (&'static str, &'static str),
    series: Vec<(&'static str, Vec<(f64, f64)>)>,
}

impl Lines {
    pub fn new(file: &'static str, title: &'static str, axes: (&'static str, &'static str)) -> Self {
        Lines { file, title, axes, series: Vec::new() }
    }

    /// Adds a point to a line, if it was measured; points come from left to right.
    pub fn point(&mut self, line: &'static str, x: f64, y: Option<f64>) {
        let Some(y) = y else { return };
        match self.series.iter_mut().find(|(name, _)| *name == line) {
            Some((_, points)) => points.push((x, y)),
            None => self.series.push((line, vec![(x, y)])),
        }
    }

    /// The chart, if it has any points.
    pub fn draw(&self) -> Option<Chart> {
        if self.series.is_empty() {
            return None;
        }
        let mut svg = String::new();
        self.draw_into(&mut svg).expect(IN_MEMORY);
        Some(Chart { file: self.file, title: self.title.to_owned(), svg })
    }

    fn draw_into(&self, svg: &mut String) -> Result<(), DrawingError> {
        let area = SVGBackend::with_string(svg, (WIDTH, 460)).into_drawing_area();
        area.fill(&WHITE)?;
        let points = || self.series.iter().flat_map(|(_, points)| points);
        // The range always includes 1, where both are equal.
        let span = |values: &mut dyn Iterator<Item = f64>, start: (f64, f64)| {
            values.fold(start, |(low, high), value| (f64::min(low, value), f64::max(high, value)))
        };
        let (left, right) = span(&mut points().map(|point| point.0), (f64::INFINITY, 0.0));
        let (low, high) = span(&mut points().map(|point| point.1), (1.0, 1.0));
        let margin = f64::max((high - low) * 0.2, 0.01);
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, TITLE_FONT)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(left - 0.5..right + 0.5, low - margin..high + margin)?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .x_desc(self.axes.0)
            .y_desc(self.axes.1)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.2}"))
            .label_style(LABEL_FONT)
            .draw()?;
        chart.draw_series(LineSeries::new([(left - 0.5, 1.0), (right + 0.5, 1.0)], BLACK))?;
        for ((name, points), colour) in self.series.iter().zip(COLOURS) {
            let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(4);
            let series = chart.draw_series(line)?;
            series.label(*name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        }
        finish(chart.configure_series_labels(), SeriesLabelPosition::UpperRight)?;
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_title_axis_labels_and_legend_on_white() {
        let mut bars = Bars::new("a.svg", "Two & three", "percent");
        assert_eq!(bars.draw(), None);
        bars.group("gzip", [(THEIRS, 2.0), (OURS, -3.0)]);
        let chart = bars.draw().expect("there are bars");
        for text in ["Two &amp; three", "percent", "gzip", "paper", "chordal", "#FFFFFF"] {
            assert!(chart.svg.contains(text), "{text} is missing:\n{}", chart.svg);
        }
        assert_eq!(bars.draw(), Some(chart));
    }

    #[test]
    fn nothing_but_zeros_can_be_drawn() {
        let mut bars = Bars::new("a.svg", "None", "percent");
        bars.group("gzip", [(THEIRS, 0.0), (OURS, 0.0)]);
        assert!(bars.draw().is_some());
    }

    #[test]
    fn lines_leave_out_what_was_not_measured() {
        let mut lines = Lines::new("b.svg", "Threshold", ("registers", "speed-up"));
        lines.point("here", 4.0, None);
        assert_eq!(lines.draw(), None);
        lines.point("here", 4.0, Some(1.1));
        lines.point("here", 8.0, Some(0.9));
        lines.point("paper", 8.0, Some(0.95));
        let chart = lines.draw().expect("there are points");
        for text in ["Threshold", "registers", "speed-up", "here", "paper"] {
            assert!(chart.svg.contains(text), "{text} is missing:\n{}", chart.svg);
        }
    }
}
