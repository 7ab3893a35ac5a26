// Draws the diagrams, in the colours of the theme that the reader has chosen.
(() => {
  const diagrams = [...document.querySelectorAll("pre.mermaid, div.mermaid")].map((element) => [element, element.textContent]);
  const isDark = () => {
    const chosen = document.body.dataset.theme;
    return chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  };
  let drawn = null;
  const draw = async () => {
    if (drawn === isDark()) return;
    drawn = isDark();
    mermaid.initialize({ startOnLoad: false, theme: drawn ? "dark" : "neutral", sequence: { mirrorActors: false, useMaxWidth: true } });
    for (const [element, text] of diagrams) {
      element.removeAttribute("data-processed");
      element.textContent = text;
    }
    await mermaid.run({ nodes: diagrams.map(([element]) => element) });
  };
  const start = () => {
    draw();
    new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
