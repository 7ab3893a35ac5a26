// Sphinx leaves numbers out of a query; here they are reason codes (docs/conf.py has them in the index).
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const parse = Search._parseQuery;
  Search._parseQuery = (query) => {
    const parsed = parse(query);
    const [, searchTerms, , highlightTerms] = parsed;
    for (const code of query.match(/\b\d{4}\b/g) ?? []) {
      searchTerms.add(code);
      highlightTerms.add(code);
    }
    return parsed;
  };
});
