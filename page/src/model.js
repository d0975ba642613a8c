// The explanation, with what is looked up in it again and again.

const PARTS = ['reloads', 'stores', 'saves', 'restores', 'copies', 'exchanges', 'remats', 'other'];

export const PART_NAMES = {
  reload: 'reload', store: 'store', folded: 'operand in memory', save: 'save', restore: 'restore', copy: 'copy',
  exchange: 'exchange', remat: 'computed again',
};

/** A cost in words: short, and never a bare zero for something that costs a little. */
export function cost(number) {
  if (number === null || number === undefined) return '–';
  if (number === 0) return '0';
  const size = Math.abs(number);
  if (size < 0.001) return number < 0 ? '>-0.001' : '<0.001';
  return number.toLocaleString('en', { maximumFractionDigits: size >= 100 ? 0 : size >= 10 ? 1 : 3 });
}

export function percent(share) {
  return `${(100 * share).toLocaleString('en', { maximumFractionDigits: Math.abs(share) < 0.1 ? 1 : 0 })}%`;
}

/** A value's name, with the variables that it is. */
export function named(value) {
  return value.variables?.length ? `${value.name} (${value.variables.join(', ')})` : value.name;
}

export class Model {
  constructor(data) {
    this.data = data;
    this.allocation = data.allocation;
    this.against = data.against ?? null;
    this.sources = data.sources;
    const { rows, blocks, values, banks } = this.allocation;
    Object.assign(this, { rows, blocks, values, banks });
    this.parts = PARTS;
    this.blockOf = new Uint32Array(rows.length);
    this.blockByName = new Map(blocks.map((block, index) => [block.name, index]));
    blocks.forEach((block, index) => this.blockOf.fill(index, block.rows[0], block.rows[1]));
    this.hottest = Math.max(1e-9, ...blocks.map((block) => block.frequency));
    this.rowsOfLine = new Map();
    this.costOfLine = new Map();
    rows.forEach((row, index) => {
      const place = row.cost ? this.placeOf(index) : null;
      if (place) this.costOfLine.set(place.join(':'), (this.costOfLine.get(place.join(':')) ?? 0) + row.cost);
      for (const place of [row.place, row.inlined_at]) {
        if (!place) continue;
        const key = place.join(':');
        if (!this.rowsOfLine.has(key)) this.rowsOfLine.set(key, []);
        this.rowsOfLine.get(key).push(index);
      }
    });
    this.usedBanks = banks.map((_, index) => index).filter((index) => banks[index].live.some((live) => live > 0));
    this.registers = new Map(banks.flatMap((bank) => bank.registers).map((register, index) => [register, index]));
    this.pricesOfRow = new Map();
    this.allocation.prices.forEach((price) => {
      if (!this.pricesOfRow.has(price.row)) this.pricesOfRow.set(price.row, []);
      this.pricesOfRow.get(price.row).push(price);
    });
    this.blockCosts = this.parted(this.allocation);
    this.againstCosts = this.against ? this.parted(this.against) : null;
  }

  /** The source of a row. What allocation adds has none: a store belongs to what is before it, anything else to what follows. */
  placeOf(row) {
    const [first, end] = this.blocks[this.blockOf[row]].rows;
    const step = this.rows[row].part === 'store' ? -1 : 1;
    for (let at = row; at >= first && at < end; at += step) {
      const place = this.rows[at].inlined_at ?? this.rows[at].place;
      if (place) return place;
    }
    return null;
  }

  /** What each block costs by part, by name. */
  parted(allocation) {
    const costs = new Map();
    for (const block of allocation.blocks) {
      const sums = {};
      for (let row = block.rows[0]; row < block.rows[1]; row++) {
        const { part, cost: amount } = allocation.rows[row];
        if (part && amount) sums[part] = (sums[part] ?? 0) + amount;
      }
      costs.set(block.name, sums);
    }
    return costs;
  }

  frequency(row) {
    return this.blocks[this.blockOf[row]].frequency;
  }

  /** How hot something is: 0 to 1, by orders of magnitude. */
  heat(frequency) {
    if (frequency <= 0) return 0;
    const span = Math.log10(this.hottest) + 3;
    return Math.min(1, Math.max(0, (Math.log10(frequency) + 3) / span));
  }

  /** Whether a value is in memory only in some part of its life. */
  isAway(value) {
    return value.why !== undefined && value.why !== null;
  }

  /** The values of a web: mostly one variable. */
  web(value) {
    return this.values.filter((other) => other.web === value.web);
  }

  /** A source line with code, as a selection of its first row and of the line. */
  lineOf(number) {
    const key = [...this.rowsOfLine.keys()].find((key) => key.endsWith(`:${number}`));
    return key ? { row: this.rowsOfLine.get(key)[0], line: key.split(':').map(Number) } : null;
  }

  /** Rows with this piece of text, number, value, variable or register. */
  find(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const line = /^:(\d+)$/.exec(wanted);
    const found = [];
    if (line) {
      const rows = [...this.rowsOfLine].filter(([key]) => key.endsWith(`:${line[1]}`)).flatMap(([, rows]) => rows);
      return [...new Set(rows)].sort((a, b) => a - b).map((row) => ({ row }));
    }
    const block = this.blockByName.get(wanted);
    if (block !== undefined) found.push({ row: this.blocks[block].rows[0] });
    this.values.forEach((value, index) => {
      if (value.name === wanted || value.variables?.some((variable) => variable.toLowerCase() === wanted)) {
        const row = value.defined[0] ?? value.pieces[0]?.rows[0];
        if (row !== undefined) found.push({ row, value: index });
      }
    });
    if (this.registers.has(wanted)) {
      this.values.forEach((value, index) => {
        const piece = value.pieces.find((piece) => piece.registers.includes(wanted));
        if (piece) found.push({ row: piece.rows[0], value: index });
      });
    }
    if (!found.length) {
      this.rows.forEach((row, index) => {
        if (row.text.toLowerCase().includes(wanted)) found.push({ row: index });
      });
    }
    return found;
  }
}
