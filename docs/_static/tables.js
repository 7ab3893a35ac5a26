// A table that is wider than its column gets smaller letters and breaks long words; on a telephone it shows its cells one below the
// other, each under its column's name (site.css).
document.addEventListener("DOMContentLoaded", () => {
  const narrow = matchMedia("(max-width: 46em)");
  const stack = () => {
    if (!narrow.matches) {
      for (const table of document.querySelectorAll("article table.docutils"))
        if (table.scrollWidth > table.clientWidth) table.classList.add("tight");
      return;
    }
    for (const table of document.querySelectorAll("article table.docutils:not(.stacked)")) {
      const names = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent);
      if (names.length < 3 || table.scrollWidth <= table.clientWidth) continue;
      table.classList.add("stacked");
      for (const row of table.tBodies[0].rows) {
        for (const [at, cell] of [...row.cells].entries()) cell.dataset.column = names[at];
      }
    }
  };
  stack();
  narrow.addEventListener("change", stack);
});
