//! The report as a document in three forms: text for a terminal, Markdown and JSON.

use super::charts::Chart;
use super::claims::Judged;
use super::executed::Executed;
use super::verdict::{EXPLANATION, Verdict};
use crate::measure::report::{Cell, Style, Table};
use indexmap::IndexMap;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The whole report.
pub struct Document {
    pub sections: Vec<Section>,
    /// Notes on the inputs: versions, missing runs, functions that are not compared.
    pub inputs: Vec<Block>,
}

/// A table or figure of a paper, with our numbers beside it.
pub struct Section {
    /// Its name on the command line.
    pub name: &'static str,
    pub title: &'static str,
    pub blocks: Vec<Block>,
    pub chart: Option<Chart>,
    pub claims: Vec<Judged>,
}

/// A piece of a document.
pub enum Block {
    Paragraph(String),
    Table {
        caption: String,
        table: Table,
    },
    /// Quoted verbatim.
    Verbatim(String),
}

/// How a document is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Text,
    /// With links to charts, if the folder that they are in is given.
    Markdown,
    Json,
}

/// The schema of the JSON form.
const SCHEMA: &str = "chordal-paper/1";

const TITLE: &str = "Reproduction of the papers";

/// Notes that readers need before they compare anything.
const PREFACE: &[&str] = &[
    "The papers' own figures beside chordal's. SRA is Pereira, *The Designing and Implementation of a SSA-based register allocator*; \
     SFE is Pereira and Palsberg, *SSA Elimination after Register Allocation* (2008); JSR is French and Amaral, *Eliminating \
     Redundant Join-Set Computations in Static Single Assignment* (2005); SDM is Rastello, *SSA Destruction for Machine Code* \
     (a chapter after Boissinot et al., CGO 2009).",
    "SPEC CPU 2000, which the papers compiled, is not free. A program of ours that stands beside one of the paper's is of the \
     same kind (164.gzip and gzip, 186.crafty and phalanx, 255.vortex and sqlite), but code, inputs, compiler and, for SRA, \
     the processor are different. Claims and directions can be compared, absolute counts cannot.",
    "SRA's 4, 8, 12 and 16 PowerPC registers correspond to 4, 8, 12 and 15 registers of x86-64 here, and SFE's seven x86 \
     registers to the seven of i386; where no program was given for i386, the other settings stand in.",
];

impl Document {
    /// The document in a format, with a newline at the end; `charts` is the folder for links to charts.
    pub fn render(&self, format: Format, charts: Option<&str>) -> String {
        match format {
            Format::Text => Writer { style: Style::Plain, charts: None, text: String::new() }.document(self),
            Format::Markdown => Writer { style: Style::Markdown, charts, text: String::new() }.document(self),
            Format::Json => {
                let mut text = serde_json::to_string_pretty(&self.json()).expect("the document has text keys only");
                text.push('\n');
                text
            }
        }
    }

    fn claims(&self) -> impl Iterator<Item = &Judged> {
        self.sections.iter().flat_map(|section| &section.claims)
    }

    /// A row for each claim.
    fn overview(&self) -> Table {
        let mut table = Table::new(["claim", "source", "paper", "here", "verdict"]);
        for judged in self.claims() {
            table.row([
                judged.claim.text.into(),
                judged.claim.source.into(),
                judged.claim.expected().into(),
                judged.measured.first().map(|&(_, number)| judged.claim.unit.show(number)).into(),
                judged.verdict.name().into(),
            ]);
        }
        table
    }

    /// How many claims have each verdict.
    fn summary(&self) -> String {
        let count = |verdict: Verdict| self.claims().filter(|judged| judged.verdict == verdict).count();
        let counts: Vec<String> = Verdict::ALL.map(|verdict| format!("{} {}", count(verdict), verdict.name())).into();
        format!("{} claims: {}.{}", self.claims().count(), counts.join(", "), self.shared_causes())
    }

    /// For each cause that several claims share which are not reproduced, how many these are.
    fn shared_causes(&self) -> String {
        let missed = self.claims().filter(|judged| matches!(judged.verdict, Verdict::Direction | Verdict::NotReproduced));
        let mut causes: IndexMap<&str, usize> = IndexMap::new();
        missed.filter_map(|judged| judged.cause).for_each(|cause| *causes.entry(cause).or_default() += 1);
        let shared = causes.into_iter().filter(|&(_, count)| count > 1);
        shared.map(|(cause, count)| format!(" {count} that are not, or only in direction, share a cause: {cause}.")).collect()
    }

    fn json(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "chordal": env!("CARGO_PKG_VERSION"),
            "sections": self.sections.iter().map(Section::json).collect::<Vec<_>>(),
            "inputs": self.inputs.iter().map(Block::json).collect::<Vec<_>>(),
        })
    }
}

impl Section {
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "blocks": self.blocks.iter().map(Block::json).collect::<Vec<_>>(),
            "claims": self.claims.iter().map(Judged::json).collect::<Vec<_>>(),
        })
    }
}

impl Block {
    fn json(&self) -> Value {
        match self {
            Block::Paragraph(text) | Block::Verbatim(text) => json!({ "text": text }),
            Block::Table { caption, table } => json!({ "caption": caption, "table": table }),
        }
    }
}

impl Judged {
    fn json(&self) -> Value {
        let measured = |(setting, number): &(String, f64)| json!({ "setting": setting, "value": number });
        json!({
            "claim": self.claim.text,
            "source": self.claim.source,
            "quantity": self.claim.quantity,
            "paper": self.claim.expected(),
            "measured": self.measured.iter().map(measured).collect::<Vec<_>>(),
            "verdict": self.verdict,
            "executed": self.executed.map(|ratios| Executed::NAMES.into_iter().zip(ratios).collect::<BTreeMap<_, _>>()),
            "obstacle": self.obstacle,
            "tested": self.tested.iter().map(|(what, number)| json!({ "what": what, "value": number })).collect::<Vec<_>>(),
            "cause": self.cause,
            "why": self.claim.why,
        })
    }
}

/// Writes the two forms that are for people.
struct Writer<'d> {
    style: Style,
    /// The folder that the charts are in.
    charts: Option<&'d str>,
    text: String,
}

impl Writer<'_> {
    fn document(mut self, document: &Document) -> String {
        self.heading(1, TITLE);
        if self.style == Style::Markdown {
            self.paragraph("This document is generated by `chordal paper` (for the corpus, by `make paper`), never by hand.");
        }
        for paragraph in PREFACE {
            self.paragraph(paragraph);
        }
        if document.claims().next().is_some() {
            self.heading(2, "Claims");
            self.paragraph(&document.summary());
            self.paragraph(EXPLANATION);
            self.table(&document.overview());
        }
        for section in &document.sections {
            self.section(section);
        }
        if !document.inputs.is_empty() {
            self.heading(2, "Inputs");
            self.blocks(&document.inputs);
        }
        // Without the empty line after the last block.
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }

    fn section(&mut self, section: &Section) {
        let title = format!("{} (`{}`)", section.title, section.name);
        self.heading(2, &title);
        if let (Some(folder), Some(chart)) = (self.charts, &section.chart) {
            let _ = writeln!(self.text, "![{}]({folder}/{})\n", chart.title, chart.file);
        }
        self.blocks(&section.blocks);
        for judged in &section.claims {
            self.claim(judged);
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Paragraph(text) => self.paragraph(text),
                Block::Table { caption, table } => {
                    self.paragraph(caption);
                    self.table(table);
                }
                Block::Verbatim(text) if self.style == Style::Markdown => {
                    let _ = writeln!(self.text, "```\n{}\n```\n", text.trim_end());
                }
                Block::Verbatim(text) => self.paragraph(text),
            }
        }
    }

    fn claim(&mut self, judged: &Judged) {
        let claim = &judged.claim;
        let verdict = judged.verdict.name();
        self.paragraph(&format!("**{}** ({}): **{verdict}**.", claim.text, claim.source));
        let mut lines = vec![format!("paper: {}; measured: {}", claim.expected(), claim.quantity)];
        lines.extend(judged.measured.iter().map(|(setting, number)| format!("{setting}: {}", claim.unit.show(*number))));
        lines.extend(judged.executed.map(|ratios| {
            let shown = Executed::NAMES.iter().zip(ratios).map(|(name, ratio)| format!("{name} {ratio:.3}"));
            format!("executed, the same ratios: {}", shown.collect::<Vec<_>>().join(", "))
        }));
        lines.extend(judged.obstacle.clone());
        lines.extend(judged.tested.iter().map(|(what, number)| format!("{what}: {}", claim.unit.show(*number))));
        lines.extend((!claim.why.is_empty()).then(|| claim.why.to_owned()));
        for line in lines {
            self.wrapped("- ", "  ", &line);
        }
        self.text.push('\n');
    }

    fn heading(&mut self, level: usize, title: &str) {
        let _ = match self.style {
            Style::Markdown => writeln!(self.text, "{} {title}\n", "#".repeat(level)),
            _ => writeln!(self.text, "{}\n{}\n", plain(title), if level == 1 { "=" } else { "-" }.repeat(plain(title).len())),
        };
    }

    fn paragraph(&mut self, text: &str) {
        self.wrapped("", "", text);
        self.text.push('\n');
    }

    /// Writes a paragraph: on one line in Markdown, in short lines for a terminal.
    fn wrapped(&mut self, first: &str, others: &str, text: &str) {
        if self.style == Style::Markdown {
            let _ = writeln!(self.text, "{first}{text}");
            return;
        }
        const WIDTH: usize = 100;
        let mut line = first.to_owned();
        let mut empty = true;
        for word in plain(text).split_whitespace() {
            if !empty && line.len() + 1 + word.len() > WIDTH {
                let _ = writeln!(self.text, "{line}");
                line = others.to_owned();
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        let _ = writeln!(self.text, "{line}");
    }

    fn table(&mut self, table: &Table) {
        let _ = writeln!(self.text, "{}", table.render(self.style));
    }
}

/// The text without marks of emphasis.
fn plain(text: &str) -> String {
    text.replace(['*', '`'], "")
}

/// A cell for an amount that may not have been measured.
pub fn amount(number: Option<f64>, decimals: usize) -> Cell {
    number.map_or(Cell::Missing, |number| Cell::Amount(number, decimals))
}

/// A cell for a count that is stored as a floating-point number and may not have been measured.
pub fn count(number: Option<f64>) -> Cell {
    number.map_or(Cell::Missing, |number| Cell::Count(number as u64))
}

/// A cell for a change that may not have been measured.
pub fn change(number: Option<f64>) -> Cell {
    number.map_or(Cell::Missing, Cell::Change)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{outcome, record, results};
    use super::super::variants::{CH_O3, FIFTEEN, Variant};
    use super::super::{ALL, Exhibit, Machine, Results, report};
    use super::*;
    use crate::measure::compare::record::Outcome;

    fn exhibits(names: &[&str]) -> Vec<&'static Exhibit> {
        ALL.iter().filter(|exhibit| names.contains(&exhibit.name)).collect()
    }

    fn document(names: &[&str]) -> Document {
        report(&exhibits(names), &results(), Some("gzip 1.12\n"))
    }

    #[test]
    fn markdown_has_ours_beside_theirs() {
        let text = document(&["sra-table1"]).render(Format::Markdown, Some("charts"));
        assert!(text.starts_with("# Reproduction of the papers\n\n"), "{text}");
        assert!(text.contains("![Interference graph by value-register graph (SRA Table 1)](charts/sra-table1.svg)\n"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| 164.gzip")).collect();
        let cells: Vec<&str> = rows[0].split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells[..5], ["164.gzip", "25,716", "339,771", "13.21", "gzip"]);
        assert_eq!(cells[7], "10.00");
        assert!(text.contains("**reproduced**"), "{text}");
        assert!(text.contains("```\ngzip 1.12\n```\n"), "{text}");
    }

    #[test]
    fn a_terminal_gets_short_lines_without_marks() {
        let text = document(&["sra-table1", "sfe-rivals"]).render(Format::Text, None);
        assert!(!text.contains("**") && !text.contains('`') && !text.contains("]("), "{text}");
        let prose = text.lines().filter(|line| !line.contains("  "));
        assert!(prose.clone().all(|line| line.len() <= 100), "{text}");
        assert!(prose.count() > 20, "{text}");
    }

    #[test]
    fn programs_get_numbers_and_verdicts() {
        let text = document(&["sra-table1"]).render(Format::Json, None);
        let json: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(json["schema"], SCHEMA);
        let claim = &json["sections"][0]["claims"][0];
        assert_eq!((&claim["verdict"], &claim["measured"][0]["value"]), (&json!("reproduced"), &json!(10.0)));
        let table = &json["sections"][0]["blocks"][1]["table"];
        assert_eq!(table["columns"][0], "SPEC");
        assert_eq!(table["rows"][0][1], 25716);
    }

    #[test]
    fn every_exhibit_can_be_shown_with_results_and_without() {
        let all: Vec<&Exhibit> = ALL.iter().collect();
        for results in [results(), Results::default()] {
            let document = report(&all, &results, None);
            for format in [Format::Text, Format::Markdown, Format::Json] {
                let text = document.render(format, None);
                assert!(!text.contains("NaN"), "{text}");
            }
        }
    }

    #[test]
    fn runs_that_came_to_nothing_are_reported() {
        let mut results = results();
        let variant = Variant::new(CH_O3, FIFTEEN);
        let crash = outcome(variant, Outcome::Crashed { message: "signal 11".into() });
        results.add("m4", Machine::X86_64, &[variant], &record([crash]));
        let text = report(&exhibits(&["sra-table1"]), &results, None).render(Format::Markdown, None);
        assert!(text.contains("signal 11") && text.contains("ch-o3 (x86-64, 15 registers)"), "{text}");
    }
}
