// Elements in one expression.

/** Makes an element: `element('td.number', { title: 'x' }, 'text', child)`. */
export function element(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split('.');
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false && value !== null) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A button that looks like a link. */
export function link(text, onclick) {
  return element('button.link', { type: 'button', onclick }, text);
}

/** A table with a header. */
export function table(header, rows, attributes = {}) {
  const cell = (content, index) =>
    index === 0
      ? element('th', { scope: 'row' }, content)
      : element(typeof content === 'string' && /^[-<>+–]?[\d,.]*%?$/.test(content) ? 'td.number' : 'td', {}, content);
  return element(
    'table',
    attributes,
    element('thead', {}, element('tr', {}, header.map((name) => element('th', { scope: 'col' }, name)))),
    element('tbody', {}, rows.map((row) => element('tr', {}, row.map(cell)))),
  );
}
