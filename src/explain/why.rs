//! Says in words why values are in memory.

use super::schema::{Bank, Piece, Price, Row, Value};

/// Fills in [`Value::why`] of those that are in memory somewhere.
pub(super) fn explain(values: &mut [Value], banks: &[Bank], prices: &[Price], rows: &[Row], rule: &str) {
    let mut price_of: Vec<Vec<Option<f64>>> = banks.iter().map(|_| vec![None; rows.len()]).collect();
    for price in prices {
        let known = &mut price_of[price.bank][price.row];
        *known = Some(known.map_or(price.price, |known| known.max(price.price)));
    }
    let mut of_web: Vec<(f64, f64)> = vec![(0.0, 0.0); values.len()];
    for value in values.iter() {
        let (cost, rent) = &mut of_web[value.web];
        *cost += value.cost;
        *rent += value.rent.unwrap_or_default();
    }
    for value in values {
        let away: Vec<&Piece> = value.pieces.iter().filter(|piece| piece.registers.is_empty()).collect();
        if !away.is_empty() {
            value.why = Some(reason(of_web[value.web], &away, &banks[value.bank], &price_of[value.bank], rows, rule));
        }
    }
}

/// The reason why a value is in no register in these parts of its life. `cost` and `rent` are those of its web.
fn reason((cost, rent): (f64, f64), away: &[&Piece], bank: &Bank, prices: &[Option<f64>], rows: &[Row], rule: &str) -> String {
    let on_the_way = || away.iter().flat_map(|piece| piece.rows[0]..piece.rows[1]);
    let dearest =
        on_the_way().filter(|&row| prices[row].is_some()).max_by(|&a, &b| prices[a].partial_cmp(&prices[b]).expect("no NaN"));
    let excess = |row: usize| i64::from(bank.live[row]) - i64::from(bank.supply[row]);
    let crowded = on_the_way().filter(|&row| excess(row) > 0).max_by_key(|&row| excess(row));
    let at = |row: usize| {
        let line = rows[row].place.map_or(String::new(), |(_, line)| format!(" (line {line})"));
        format!("at `{}`{line}", rows[row].text)
    };
    let count = |row: usize| {
        let (live, supply) = (bank.live[row], bank.supply[row]);
        format!("{live} values meet, for {supply} {} registers", bank.name)
    };
    let short = dearest.or(crowded).map(|row| format!("{}, {}. ", capitalised(&at(row)), count(row))).unwrap_or_default();
    let reason = match rent > 0.0 {
        true => format!(
            "Where this variable is in no register, one would cost it {rent:.3}, by what registers are worth to others; being in \
             memory costs it {cost:.3}."
        ),
        false => rule.to_owned(),
    };
    short + &reason
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
