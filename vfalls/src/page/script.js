"use strict";
// Without this script, the page shows the same numbers, in the order in which it was written.
const cut = (text, most) => text.length <= most ? text : most < 4 ? "" : text.slice(0, most >> 1) + "…" + text.slice((most >> 1) + 1 - most);

for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const text = (row, column) => row.cells[column].title || row.cells[column].textContent;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const numbers = rows.every(row => !isNaN(text(row, column)));
      // The first click brings the largest number or the beginning of the alphabet to the top.
      const before = head.getAttribute("aria-sort"), down = before ? before == "ascending" : numbers;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = (one, other) => numbers ? one - other : one.localeCompare(other, "en", {numeric: true});
      rows.sort((one, other) => (down ? -1 : 1) * compare(text(one, column), text(other, column)));
      body.append(...rows);
    };
  });
  if (rows.length <= 16) continue;
  // A term such as cpi>10 is about the first column whose name begins with "cpi".
  const matches = (row, term) => {
    const [, name, sign, value] = /^(.+?)([<>=])(.+)$/.exec(term) || [];
    const column = heads.findIndex(head => name && head.textContent.toLowerCase().startsWith(name));
    if (column < 0) return heads.some((_, column) => text(row, column).toLowerCase().includes(term));
    const cell = text(row, column).toLowerCase();
    return sign == "=" ? cell == value : sign == "<" ? +cell < +value : +cell > +value;
  };
  const search = document.createElement("label"), input = document.createElement("input"), found = document.createElement("output");
  search.className = "search";
  input.type = "search";
  input.placeholder = `text, ${heads[0].textContent}=3, ${heads[0].textContent}>3`;
  input.oninput = () => {
    const terms = input.value.toLowerCase().split(" ").filter(term => term);
    for (const row of rows) row.hidden = !terms.every(term => matches(row, term));
    found.textContent = terms.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length} rows` : "";
  };
  search.append("Search", input, found);
  table.parentNode.before(search);
}

// The numbers that a reader opens stay in view, although the cards move.
for (const numbers of document.querySelectorAll("details")) numbers.ontoggle = () => numbers.open && numbers.scrollIntoView({block: "nearest"});

// The names in a flame graph are as long as their boxes are wide.
const fit = () => {
  for (const graph of document.querySelectorAll("svg:not([viewBox])")) {
    const width = graph.clientWidth / 100;
    for (const box of graph.querySelectorAll("svg")) {
      const name = box.querySelector("title").textContent.replace(/: [^:]*$/, "");
      const label = box.querySelector("text");
      if (label) label.textContent = cut(name, (parseFloat(box.getAttribute("width")) * width - 4) / 7.4 | 0);
    }
  }
};
addEventListener("resize", fit);
fit();
