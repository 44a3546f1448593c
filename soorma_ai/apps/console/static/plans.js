"use strict";
// Buttons that copy the text of the element that they name; and plans that are picked stay so when a list is read anew.
(() => {
  const picked = new Set();
  const prepare = (root) => {
    for (const one of root.querySelectorAll("button[data-copy]")) one.hidden = false;
    for (const one of root.querySelectorAll("input[name=plan]")) if (picked.has(one.value)) one.checked = true;
  };
  document.addEventListener("change", ({ target }) => {
    if (target.matches("input[name=plan]")) picked[target.checked ? "add" : "delete"](target.value);
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    const source = button && document.getElementById(button.dataset.copy);
    if (!source) return;
    const label = button.textContent;
    try { await navigator.clipboard.writeText(source.textContent); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(source); button.textContent = "Selected"; }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  document.addEventListener("soorma:fresh", (event) => prepare(event.detail));
  prepare(document);
})();
