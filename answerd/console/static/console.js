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
  const over = event.submitter?.dataset.over;  // only a text that is there is asked about
  if (over && !document.getElementById(over).value) return;
  if (question && !window.confirm(question)) event.preventDefault();
});

// A text that was changed and not sent is not left without a question.
let isSent = false;
document.addEventListener("submit", (event) => { isSent = !event.defaultPrevented; });
window.addEventListener("beforeunload", (event) => {
  const areas = [...document.querySelectorAll("textarea[data-format]")];
  if (!isSent && areas.some((area) => !area.readOnly && area.value !== area.defaultValue)) event.preventDefault();
});

// A page that follows what happens says when it cannot.
const offline = document.getElementById("offline");
const show = (is) => () => { if (offline) offline.hidden = !is; };
document.addEventListener("htmx:sendError", show(true));
document.addEventListener("htmx:responseError", (event) => show(event.detail.xhr.status >= 500)());
document.addEventListener("htmx:afterOnLoad", show(false));

// Ctrl-S saves the document, as in any editor.
document.addEventListener("keydown", (event) => {
  const save = document.querySelector('button[name="do"][value="save"]');
  if (!save || event.key !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  save.form.requestSubmit(save);
});
