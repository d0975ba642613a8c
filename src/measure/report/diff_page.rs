//! Writes a difference of two files of statistics as a page for a browser.

use super::diff::{LEFT_OUT, Naming, headline, moved, named, title, totals};
use crate::measure::diff::{Change, Diff, Item};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The page, which fetches nothing.
pub fn page(diff: &Diff, naming: &Naming<'_>) -> String {
    let title = title(diff);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(super::PAGE_STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    @if let Some(headline) = headline(diff) { p { strong { (headline) } } }
                    @if let [group] = &diff.groups[..] { p { (group.label()) } }
                    (regressions(diff))
                    @let totals = totals(diff);
                    @if !totals.is_empty() { h2 { "Totals" } (totals.html()) }
                    (changes("Hurt most", &diff.hurt, naming))
                    (changes("Helped most", &diff.helped, naming))
                    (left_out(diff, naming))
                }
            }
        }
    };
    page.into_string()
}

fn regressions(diff: &Diff) -> Markup {
    let limits: Vec<String> = diff.limits.iter().map(ToString::to_string).collect();
    let limits = limits.join(", ");
    html! {
        @if !diff.limits.is_empty() {
            @if diff.regressions.is_empty() {
                p { "Nothing is worse by more than " (limits) "." }
            } @else {
                h2 { "Worse by more than " (limits) }
                ul { @for regression in &diff.regressions { li { (regression) } } }
            }
        }
    }
}

fn changes(heading: &str, changes: &[Change], naming: &Naming<'_>) -> Markup {
    html! {
        @if !changes.is_empty() {
            h2 { (heading) }
            table {
                thead { tr { @for name in ["item", "place", "moved", "of total"] { th scope="col" { (name) } } } }
                tbody {
                    @for change in changes {
                        tr {
                            th scope="row" { (item(&change.item, naming)) }
                            td { (naming.place(&change.item).unwrap_or_default()) }
                            td { (moved(change)) }
                            td class="number" { (format!("{:+.1}%", 100.0 * change.of_total)) }
                        }
                    }
                }
            }
        }
    }
}

fn left_out(diff: &Diff, naming: &Naming<'_>) -> Markup {
    html! {
        @for (fate, heading) in LEFT_OUT {
            @let all: Vec<_> = diff.fated(fate).collect();
            @if !all.is_empty() {
                details {
                    summary { (heading) ": " (all.len()) }
                    ul { @for left_out in all.iter().take(naming.top) { li { (item(&left_out.item, naming)) ": " (left_out.base) " -> " (left_out.new) } } }
                    @if all.len() > naming.top { p { "and " (all.len() - naming.top) " more" } }
                }
            }
        }
    }
}

fn item(item: &Item, naming: &Naming<'_>) -> Markup {
    let name = named(item, naming.names);
    match naming.address(item) {
        Some(address) => html! { a href=(address) { code { (name) } } },
        None => html! { code { (name) } },
    }
}
