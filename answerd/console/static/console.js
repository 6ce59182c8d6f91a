// Small helpers of the console. Every page works without them.
"use strict";

// Selecting machines: all of a page, a stretch with the shift key, or all that match; the bar says how many.
let lastBox = null;
const boxesOf = (form) => [...form.querySelectorAll('tbody input[type="checkbox"]')];
const count = (form) => {
  const where = form.querySelector("#selected");
  if (!where) return;
  const matching = form.elements["all"]?.checked;
  const chosen = boxesOf(form).filter((box) => box.checked).length;
  where.textContent = matching || !chosen ? "" : `${chosen} selected`;
};
document.addEventListener("click", (event) => {
  const box = event.target.closest('tbody input[type="checkbox"]');
  if (!box?.form) return;
  const boxes = boxesOf(box.form), from = boxes.indexOf(lastBox), to = boxes.indexOf(box);
  if (event.shiftKey && from >= 0) {
    for (const between of boxes.slice(Math.min(from, to), Math.max(from, to) + 1)) between.checked = box.checked;
  }
  lastBox = box;
});
document.addEventListener("change", (event) => {
  const form = event.target.form, all = event.target.closest("input[data-all], input[name=all]");
  if (!form?.querySelector("#selected")) return;
  if (all) for (const box of boxesOf(form)) box.checked = all.checked;
  const matching = form.elements["all"];
  if (matching && !event.target.checked) matching.checked = false;  // who takes one out does not mean all
  count(form);
});

// A table that refreshes itself keeps still while something in it is selected or has the focus.
document.addEventListener("htmx:beforeRequest", (event) => {
  const rows = event.target.closest("tbody[hx-get]");
  if (rows && (rows.contains(document.activeElement) || rows.querySelector("input:checked"))) event.preventDefault();
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

// "/" leads to the search over everything, as on many sites; not while something is typed.
document.addEventListener("keydown", (event) => {
  const find = document.querySelector("[data-find]");
  if (!find || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  event.preventDefault();
  find.focus();
});

// Times are in UTC without scripts; with them also as the clock on the wall says.
const UTC = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/;
const local = (text) => {
  const found = text.trim().match(UTC), at = found && new Date(`${found[1]}T${found[2]}Z`);
  if (!at || !at.getTimezoneOffset()) return null;  // here it is UTC
  const zone = {timeZoneName: "short", hour12: false, year: "numeric", month: "2-digit", day: "2-digit",
    hour: "2-digit", minute: "2-digit", second: "2-digit"};
  return at.toLocaleString("sv-SE", zone);
};
const tellTime = (within) => {
  for (const one of within.querySelectorAll("[title]")) {
    const told = local(one.title);
    if (told) one.title = `${told} · ${one.title}`;
  }
  for (const one of within.querySelectorAll("time")) {
    const told = local(one.textContent);
    if (told) [one.title, one.textContent] = [one.textContent, told];
  }
};
tellTime(document);
document.addEventListener("htmx:afterSettle", (event) => tellTime(event.detail.elt.parentElement ?? document));
