// On a telephone a table that is wider than the screen shows its cells one below the other (site.css), each under its column's name.
document.addEventListener("DOMContentLoaded", () => {
  const narrow = matchMedia("(max-width: 46em)");
  const stack = () => {
    if (!narrow.matches) return;
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
