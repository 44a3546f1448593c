"use strict";
// Buttons that copy: they show where this runs, and copy the text of the element that they name.
(() => {
  const show = (root) => { for (const one of root.querySelectorAll("button[data-copy]")) one.hidden = false; };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    const source = button && document.getElementById(button.dataset.copy);
    if (!source) return;
    const label = button.textContent;
    try { await navigator.clipboard.writeText(source.textContent); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(source); button.textContent = "Selected"; }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  document.addEventListener("soorma:fresh", (event) => show(event.detail));
  show(document);
})();
