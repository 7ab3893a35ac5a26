// Sphinx leaves numbers out of a query; here they are reason codes (docs/conf.py has them in the index). And beside a longer word it
// takes a word of two letters for enough: every page has MQ.
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
    const short = [...searchTerms].filter((term) => term.length <= 2);
    if (short.length < searchTerms.size) for (const term of short) searchTerms.delete(term);
    return parsed;
  };
});
