//! Pictures of a comparison, for papers and talks: overhead by part, time against overhead, differences function by function.

use super::chart::{COLOURS, DrawingError, IN_MEMORY, LABEL_FONT, TITLE_FONT, finish};
use crate::measure::compare::summary::{FunctionCounts, Group, Summary};
use crate::measure::stats::OverheadParts;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A picture, and the name of its file.
pub struct Plot {
    pub file: String,
    pub svg: String,
}

/// The amount of one part of overhead.
type Amount = fn(&OverheadParts) -> f64;

/// The parts of overhead, with their names.
const PARTS: [(&str, Amount); 8] = [
    ("reloads", |parts| parts.reloads),
    ("stores", |parts| parts.stores),
    ("saves", |parts| parts.saves),
    ("restores", |parts| parts.restores),
    ("copies", |parts| parts.copies),
    ("exchanges", |parts| parts.exchanges),
    ("remats", |parts| parts.remats),
    ("other", |parts| parts.other),
];

/// A colour for each part: the palette, and two greys.
const PART_COLOURS: [RGBColor; 8] =
    [COLOURS[0], COLOURS[4], COLOURS[1], COLOURS[3], COLOURS[2], COLOURS[5], RGBColor(90, 90, 90), RGBColor(170, 170, 170)];

const SIZE: (u32, u32) = (820, 560);

/// All pictures of a comparison. `functions` are those of [`functions`](crate::measure::compare::summary::functions).
pub fn plots(summary: &Summary, functions: &[Vec<FunctionCounts<'_>>]) -> Vec<Plot> {
    let mut plots = Vec::new();
    for (group, functions) in summary.groups.iter().zip(functions).filter(|(group, _)| !group.modules.is_empty()) {
        let suffix = format!("{}-{}.svg", group.target, group.registers.replace([' ', ','], "_"));
        let mut add = |name: &str, svg: Option<String>| {
            plots.extend(svg.map(|svg| Plot { file: format!("{name}-{suffix}"), svg }));
        };
        add("parts", Some(drawn((SIZE.0, 110 + 30 * group.rows.len() as u32), |area| parts(group, area))));
        let points = times(group);
        add("time", (points.len() > 1).then(|| drawn(SIZE, |area| scatter(group, &summary.baseline, &points, area))));
        let differ = differences(group, &summary.baseline, functions);
        add("functions", (!differ.is_empty()).then(|| drawn(SIZE, |area| curves(group, &summary.baseline, &differ, area))));
    }
    plots
}

type Area<'s> = DrawingArea<SVGBackend<'s>, plotters::coord::Shift>;

fn drawn(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Result<(), DrawingError>) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).expect(IN_MEMORY);
        draw(&area).expect(IN_MEMORY);
        area.present().expect(IN_MEMORY);
    }
    svg
}

fn heading(group: &Group, what: &str) -> String {
    format!("{what} ({}, {} registers)", group.target, group.registers)
}

/// Overhead by part, stacked; what is less than in the selected code goes to the left.
fn parts(group: &Group, area: &Area<'_>) -> Result<(), DrawingError> {
    const ROW: i32 = 100;
    let sum = |parts: &OverheadParts, sign: f64| PARTS.iter().map(|(_, of)| of(parts)).filter(|it| it * sign > 0.0).sum::<f64>();
    let all = || group.rows.iter().map(|row| &row.total.overhead_parts);
    let (low, high) = (all().map(|it| sum(it, -1.0)).fold(0.0, f64::min), all().map(|it| sum(it, 1.0)).fold(0.0, f64::max));
    let (chart_area, legend) = area.split_horizontally(SIZE.0 - 120);
    let rows =
        (group.rows.len() as i32 * ROW..0).with_key_points((0..group.rows.len() as i32).map(|row| row * ROW + ROW / 2).collect());
    let mut chart = ChartBuilder::on(&chart_area)
        .caption(heading(group, "Overhead by part"), TITLE_FONT)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(170)
        .build_cartesian_2d(low * 1.05..f64::max(high * 1.05, 0.01), rows)?;
    let label = |place: &i32| group.rows.get((place / ROW) as usize).map_or(String::new(), |row| row.allocator.clone());
    let mut mesh = chart.configure_mesh();
    mesh.disable_y_mesh().max_light_lines(0).x_labels(6).x_desc("executions, summed over functions called once each");
    mesh.x_label_formatter(&|x| format!("{x:.0}")).y_label_formatter(&label).label_style(LABEL_FONT).draw()?;
    for (row, at) in group.rows.iter().zip(0..) {
        let (mut left, mut right) = (0.0, 0.0);
        for ((_, of), colour) in PARTS.iter().zip(PART_COLOURS) {
            let amount = of(&row.total.overhead_parts);
            let from = if amount < 0.0 { &mut left } else { &mut right };
            let (begin, end) = (*from, *from + amount);
            *from = end;
            let corners = [(begin, at * ROW + 15), (end, at * ROW + ROW - 15)];
            chart.draw_series([Rectangle::new(corners, colour.filled())])?;
        }
    }
    for ((name, _), (colour, y)) in PARTS.iter().zip(PART_COLOURS.into_iter().zip((48..).step_by(18))) {
        legend.draw(&Rectangle::new([(4, y), (16, y + 12)], colour.filled()))?;
        legend.draw(&Text::new(*name, (22, y), LABEL_FONT))?;
    }
    Ok(())
}

/// Of each allocator with both, its ratios of time and of overhead to the baseline.
fn times(group: &Group) -> Vec<(&str, f64, f64)> {
    let point = |row: &'_ crate::measure::compare::summary::Row| {
        Some((row.time_ratio?, row.ratios.as_ref()?.get("overhead_share").copied().flatten()?))
    };
    let rows = group.rows.iter().filter_map(|row| point(row).map(|(time, overhead)| (row.allocator.as_str(), time, overhead)));
    rows.filter(|&(_, time, overhead)| time > 0.0 && overhead > 0.0).collect()
}

/// Time against overhead, both by those of the baseline, on logarithmic scales.
fn scatter(group: &Group, baseline: &str, points: &[(&str, f64, f64)], area: &Area<'_>) -> Result<(), DrawingError> {
    let span = |of: fn(&(&str, f64, f64)) -> f64| {
        let (low, high) = points.iter().map(of).fold((1.0, 1.0), |(low, high), it| (f64::min(low, it), f64::max(high, it)));
        low / 1.4..high * 1.4
    };
    let mut chart = ChartBuilder::on(area)
        .caption(heading(group, "Time of allocation and overhead"), TITLE_FONT)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(span(|it| it.1).log_scale().base(2.0), span(|it| it.2).log_scale().base(2.0))?;
    let shown = |ratio: &f64| format!("{ratio:.2}");
    chart
        .configure_mesh()
        .max_light_lines(0)
        .x_desc(format!("time of allocation by {baseline}'s"))
        .y_desc(format!("overhead by {baseline}'s"))
        .x_label_formatter(&shown)
        .y_label_formatter(&shown)
        .label_style(LABEL_FONT)
        .draw()?;
    let pixels: Vec<(i32, i32)> = points.iter().map(|&(_, time, overhead)| chart.backend_coord(&(time, overhead))).collect();
    let placed = labels(points.iter().map(|point| point.0), &pixels);
    for ((at, &(name, time, overhead)), away) in points.iter().enumerate().zip(placed) {
        let style = LABEL_FONT.into_text_style(area).pos(Pos::new(HPos::Center, VPos::Center));
        let dot = EmptyElement::at((time, overhead))
            + Circle::new((0, 0), 4, COLOURS[at % COLOURS.len()].filled())
            + Text::new(name.to_owned(), away, style);
        chart.draw_series([dot])?;
    }
    Ok(())
}

/// Where each point's name goes, from the point: above, below, to the right, to the left, or further away, where it covers no point
/// and no other name.
fn labels<'n>(names: impl Iterator<Item = &'n str>, points: &[(i32, i32)]) -> Vec<(i32, i32)> {
    const HEIGHT: i32 = 14;
    let mut taken: Vec<(i32, i32, i32)> = points.iter().map(|&(x, y)| (x, y, 10)).collect();
    let mut placed = Vec::new();
    for (name, &(x, y)) in names.zip(points) {
        let width = 7 * name.len() as i32;
        let side = width / 2 + 9;
        let near = [(0, -12), (0, 12), (side, 0), (-side, 0)];
        let further = (2..6).flat_map(|step| [(0, -12 * step), (0, 12 * step), (side, -7 * step), (side, 7 * step)]);
        let is_free = |&(dx, dy): &(i32, i32)| {
            let covers = |&(other_x, other_y, other_width): &(i32, i32, i32)| {
                2 * (x + dx - other_x).abs() < width + other_width && (y + dy - other_y).abs() < HEIGHT
            };
            !taken.iter().any(covers)
        };
        let away = near.into_iter().chain(further).find(is_free).unwrap_or((0, -12));
        taken.push((x + away.0, y + away.1, width));
        placed.push(away);
    }
    placed
}

/// The differences of each allocator's share of overhead from the baseline's, in per cent, function by function, sorted.
fn differences(group: &Group, baseline: &str, functions: &[FunctionCounts<'_>]) -> Vec<(String, Vec<f64>)> {
    let Some(base) = group.allocators.iter().position(|allocator| allocator == baseline) else { return Vec::new() };
    let of = |allocator: usize| {
        let share = |function: &FunctionCounts<'_>, which: usize| function.counts[which].overhead_share;
        let mut all: Vec<f64> =
            functions.iter().map(|function| 100.0 * (share(function, allocator) - share(function, base))).collect();
        all.sort_by(f64::total_cmp);
        (group.allocators[allocator].clone(), all)
    };
    let others = (0..group.allocators.len()).filter(|&allocator| allocator != base);
    if functions.is_empty() { Vec::new() } else { others.map(of).collect() }
}

/// One curve for each allocator, over all functions in the order of their differences.
fn curves(group: &Group, baseline: &str, differ: &[(String, Vec<f64>)], area: &Area<'_>) -> Result<(), DrawingError> {
    /// What is further away than all but a hundredth of the functions is cut off.
    const CUT: usize = 100;
    let count = differ[0].1.len();
    let (low, high) = differ.iter().fold((-0.1, 0.1), |(low, high), (_, all)| {
        (f64::min(low, all[count / CUT]), f64::max(high, all[count - 1 - count / CUT]))
    });
    let mut chart = ChartBuilder::on(area)
        .caption(heading(group, "Functions with less and with more overhead"), TITLE_FONT)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..count.max(2) as f64 - 1.0, low * 1.1..high * 1.1)?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .x_desc("functions, each allocator's in the order of its own differences")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_desc(format!("share of overhead less {baseline}'s, in per cent points"))
        .label_style(LABEL_FONT)
        .draw()?;
    for (at, (name, all)) in differ.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()].mix(if at < COLOURS.len() { 1.0 } else { 0.5 });
        let points = all.iter().enumerate().map(|(index, &difference)| (index as f64, difference.clamp(low * 1.1, high * 1.1)));
        let curve = chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        curve.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    finish(chart.configure_series_labels(), SeriesLabelPosition::UpperLeft)
}
