// Small helpers of the console. Every page works without them.
"use strict";

// "Select all" of a table with check boxes.
document.addEventListener("change", (event) => {
  const all = event.target.closest("input[data-all]");
  if (!all) return;
  for (const box of all.form.querySelectorAll(`input[name="${all.dataset.all}"]`)) box.checked = all.checked;
});

// A form that cannot be undone asks once more.
document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm || event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});
