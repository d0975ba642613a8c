//! Charts of horizontal bars, as SVG. Equal input gives equal bytes.

use crate::measure::compare::summary::{Group, Row, Summary};
use indexmap::IndexSet;
use plotters::chart::SeriesLabelStyle;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::{CoordTranslate, Shift};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

/// Of Okabe and Ito's palette, which colour-blind people can tell apart: blue, vermilion, bluish green, orange, sky blue,
/// reddish purple.
pub const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(204, 121, 167),
];
pub const WIDTH: u32 = 820;
pub const TITLE_FONT: (&str, u32) = ("sans-serif", 18);
pub const LABEL_FONT: (&str, u32) = ("sans-serif", 13);
const VALUE_FONT: (&str, u32) = ("sans-serif", 11);

/// The height of a group of bars, in units of the vertical axis, and of all its bars together.
const ROW: i32 = 100;
const FILLED: i32 = 72;

/// How many places of an axis of ratios are named at most.
const RATIOS_NAMED: usize = 6;

/// Why drawing cannot fail.
pub const IN_MEMORY: &str = "drawing into memory does not fail";

/// Why something is not drawn.
pub type DrawingError = Box<dyn Error>;

/// Whose numbers bars stand for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    pub name: String,
    pub colour: RGBColor,
}

/// Groups of bars, the first uppermost, with at most one bar of each series.
pub struct Bars {
    pub title: String,
    /// The quantity, with its unit.
    pub axis: String,
    /// How wide the groups' labels are, in pixels; 0 leaves them out, and the legend, where another chart to the left has both.
    pub labels: u32,
    pub series: Vec<Series>,
    /// The label of each group, and the values of the series.
    pub groups: Vec<(String, Vec<Option<f64>>)>,
}

impl Bars {
    /// The height, in pixels, that gives each bar enough of it.
    pub fn height(&self) -> u32 {
        120 + 22 * (self.series.len() * (self.groups.len() + 1)) as u32
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.groups.iter().flat_map(|(_, values)| values).copied().flatten()
    }

    /// Draws bars that begin at zero.
    ///
    /// # Errors
    /// If the backend has one.
    pub fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawingError>
    where
        DB::ErrorType: 'static,
    {
        let (low, high) = self.values().fold((0.0, 0.0), |(low, high), value| (f64::min(low, value), f64::max(high, value)));
        // Nothing but zeros still has an axis.
        let margin = f64::max((high - low) * 0.05, 0.01);
        let low = if low < 0.0 { low - margin } else { 0.0 };
        self.draw_over(area, low..high + margin, 0.0, None)
    }

    /// Draws ratios as bars that begin at one: half as much is as long as twice as much. Each has its value beside it.
    ///
    /// # Errors
    /// If the backend has one.
    pub fn draw_ratios<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawingError>
    where
        DB::ErrorType: 'static,
    {
        let (low, high) = self.values().fold((0.5, 2.0), |(low, high), value| (f64::min(low, value), f64::max(high, value)));
        // The values take some room.
        let margin = f64::powf(high / low, 0.2);
        self.draw_over(area, (low / margin..high * margin).log_scale().base(2.0), 1.0, Some(&|value| format!("{value:.2}")))
    }

    /// Draws bars from an origin of a horizontal axis, and their values if it is said how these are written.
    fn draw_over<DB: DrawingBackend, X>(
        &self,
        area: &DrawingArea<DB, Shift>,
        axis: X,
        origin: f64,
        written: Option<&dyn Fn(f64) -> String>,
    ) -> Result<(), DrawingError>
    where
        DB::ErrorType: 'static,
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
    {
        let count = self.groups.len() as i32;
        // The legend has the room below the last group.
        let rows = ((count + 1) * ROW..0).with_key_points((0..count).map(|row| row * ROW + ROW / 2).collect());
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, TITLE_FONT)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(self.labels)
            .build_cartesian_2d(axis, rows)?;
        let label = |place: &i32| self.groups.get((place / ROW) as usize).map_or(String::new(), |(label, _)| label.clone());
        let mut mesh = chart.configure_mesh();
        mesh.disable_y_mesh().max_light_lines(0).x_desc(&self.axis).y_label_formatter(&label).label_style(LABEL_FONT);
        if written.is_some() {
            mesh.x_labels(RATIOS_NAMED);
        }
        mesh.draw()?;
        for (index, series) in self.series.iter().enumerate() {
            let colour = series.colour;
            let rectangle = |bar: Bar| Rectangle::new([(origin, bar.top), (bar.value, bar.bottom)], colour.filled());
            let drawn = chart.draw_series(self.bars(index).map(rectangle))?;
            drawn.label(&series.name).legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 16, y + 5)], colour.filled()));
            let Some(written) = written else { continue };
            chart.draw_series(self.bars(index).map(|bar| {
                let (side, away) = if bar.value < origin { (HPos::Right, -4) } else { (HPos::Left, 4) };
                let style = VALUE_FONT.into_text_style(area).pos(Pos::new(side, VPos::Center));
                EmptyElement::at((bar.value, (bar.top + bar.bottom) / 2)) + Text::new(written(bar.value), (away, 0), style)
            }))?;
        }
        if origin != 0.0 {
            chart.draw_series(LineSeries::new([(origin, 0), (origin, count * ROW)], BLACK))?;
        }
        if self.labels > 0 {
            finish(chart.configure_series_labels(), SeriesLabelPosition::LowerRight)?;
        }
        Ok(())
    }

    /// The bars of a series.
    fn bars(&self, index: usize) -> impl Iterator<Item = Bar> {
        let height = FILLED / self.series.len() as i32;
        let margin = (ROW - height * self.series.len() as i32) / 2;
        self.groups.iter().zip(0..).filter_map(move |((_, values), row)| {
            let top = row * ROW + margin + height * index as i32;
            values[index].map(|value| Bar { value, top, bottom: top + height })
        })
    }
}

/// A bar's value, and where it is on the vertical axis.
struct Bar {
    value: f64,
    top: i32,
    bottom: i32,
}

/// Draws a legend.
///
/// # Errors
/// If the backend has one.
pub fn finish<'a, 'b, DB, CT>(
    mut legend: SeriesLabelStyle<'a, 'b, DB, CT>,
    position: SeriesLabelPosition,
) -> Result<(), DrawingError>
where
    DB: DrawingBackend + 'a,
    CT: CoordTranslate,
    DB::ErrorType: 'static,
{
    legend.position(position).background_style(WHITE).border_style(BLACK).label_font(LABEL_FONT).draw()?;
    Ok(())
}

/// How wide allocators' names are.
const NAMES: u32 = 150;

/// A comparison's ratios of overhead and of time, by allocator, with a bar for each target and register list; none if there
/// is no ratio to draw. The baseline, to which everything is one, has no bars but names the axis.
pub fn comparison(summary: &Summary) -> Option<String> {
    let overhead = |row: &Row| row.ratios.as_ref().and_then(|ratios| ratios["overhead_share"]);
    let mut charts =
        vec![ratios(summary, "overhead_share", overhead), ratios(summary, "time of allocation", |row| row.time_ratio)];
    charts.retain(|bars| bars.values().next().is_some());
    let first = charts.first_mut()?;
    first.labels = NAMES;
    let height = first.height();
    let mut svg = String::new();
    draw_beside(&charts, &mut svg, height).expect(IN_MEMORY);
    Some(svg)
}

/// Draws charts side by side. Only the first has labels.
fn draw_beside(charts: &[Bars], svg: &mut String, height: u32) -> Result<(), DrawingError> {
    let area = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    let width = (WIDTH - NAMES) / charts.len() as u32;
    let mut rest = area.clone();
    for bars in charts {
        let (own, beside) = rest.split_horizontally(width + bars.labels);
        bars.draw_ratios(&own)?;
        rest = beside;
    }
    area.present()?;
    Ok(())
}

/// One ratio of all allocators but the baseline.
fn ratios(summary: &Summary, title: &str, of: impl Fn(&Row) -> Option<f64>) -> Bars {
    let groups: Vec<&Group> = summary.groups.iter().filter(|group| !group.modules.is_empty()).collect();
    let allocators: IndexSet<&str> = groups.iter().flat_map(|group| &group.allocators).map(String::as_str).collect();
    let others = allocators.into_iter().filter(|&allocator| allocator != summary.baseline);
    let ratio = |group: &&Group, allocator| group.rows.iter().find(|row| row.allocator == allocator).and_then(&of);
    let series = groups.iter().copied().zip(COLOURS.into_iter().cycle());
    Bars {
        title: title.to_owned(),
        axis: format!("ratio to {} (less is better)", summary.baseline),
        labels: 0,
        series: series.map(|(group, colour)| Series { name: heading(group), colour }).collect(),
        groups: others.map(|name| (name.to_owned(), groups.iter().map(|group| ratio(group, name)).collect())).collect(),
    }
}

fn heading(group: &Group) -> String {
    format!("{}, {} registers", group.target, group.registers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left edge and width of each bar.
    fn bars(svg: &str, colour: &str) -> Vec<(f64, f64)> {
        let rectangles = svg.lines().filter(|line| line.contains(&format!("fill=\"{colour}\"")));
        let number = |line: &str, name: &str| -> f64 {
            let value = line.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            value.and_then(|value| value.parse().ok()).expect("rectangles have numbers")
        };
        rectangles.map(|line| (number(line, "x"), number(line, "width"))).collect()
    }

    #[test]
    fn half_as_much_is_as_long_as_twice_as_much_on_the_other_side() {
        let group = |name: &str, value| (name.to_owned(), vec![value]);
        let chart = Bars {
            title: "title".into(),
            axis: "axis".into(),
            labels: 0,
            series: vec![Series { name: "series".into(), colour: COLOURS[0] }],
            groups: vec![group("half", Some(0.5)), group("nothing", None), group("twice", Some(2.0))],
        };
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, (400, chart.height())).into_drawing_area();
        chart.draw_ratios(&area).expect(IN_MEMORY);
        drop(area);
        let bars = bars(&svg, "#0072B2");
        let [(left, length), (middle, other)] = bars[..] else { panic!("two bars, not {bars:?}:\n{svg}") };
        assert!((length - other).abs() <= 1.0, "{bars:?}");
        assert!((left + length - middle).abs() <= 1.0, "{bars:?}");
        assert!(svg.contains("\n0.50\n") && svg.contains("\n2.00\n"), "{svg}");
    }
}
