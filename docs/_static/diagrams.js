// Draws the diagrams, in the colours of the theme that the reader has chosen.
(() => {
  const diagrams = [...document.querySelectorAll("pre.mermaid, div.mermaid")].map((element) => [element, element.textContent]);
  const isDark = () => {
    const chosen = document.body.dataset.theme;
    return chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  };
  const narrow = matchMedia("(max-width: 46em)");
  // On a telephone long texts are wrapped, so that a diagram is as wide as the screen.
  const wrapped = (element, text) => {
    const each = element.parentElement.clientWidth / (text.match(/^ *participant /gm) ?? []).length;
    const sequence = { wrap: true, wrapPadding: 4, width: Math.max(100, each - 20), actorMargin: 16, diagramMarginX: 4, actorFontSize: 13 };
    return `%%{init: ${JSON.stringify({ sequence })}}%%\n`;
  };
  let drawn = null;
  const draw = async () => {
    const wanted = `${isDark() ? "dark" : "neutral"} ${narrow.matches}`;
    if (drawn === wanted) return;
    drawn = wanted;
    mermaid.initialize({
      startOnLoad: false,
      theme: isDark() ? "dark" : "neutral",
      sequence: { mirrorActors: false, useMaxWidth: true },
    });
    for (const [element, text] of diagrams) {
      element.removeAttribute("data-processed");
      element.textContent = (narrow.matches && text.includes("sequenceDiagram") ? wrapped(element, text) : "") + text;
    }
    await mermaid.run({ nodes: diagrams.map(([element]) => element) });
  };
  const start = () => {
    draw();
    new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    narrow.addEventListener("change", draw);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
