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

// What follows what happens changes in place: focus, scroll, selected text, ticked boxes and open details stay. Parts that
// move carry a key; what is not in the new page goes.
const keyOf = (node) => node.id || node.dataset?.key || node.getAttribute?.("aria-labelledby") || "";
const isSame = (one, other) => one.nodeName === other.nodeName && keyOf(one) === keyOf(other);
const changeAttributes = (now, next) => {
  const isOwn = (name) => name === "open" && now.nodeName === "DETAILS";
  for (const {name} of [...now.attributes]) if (!next.hasAttribute(name) && !isOwn(name)) now.removeAttribute(name);
  for (const {name, value} of next.attributes) {
    if (now.getAttribute(name) !== value && !isOwn(name)) now.setAttribute(name, value);
  }
};
const changeChildren = (now, next) => {
  const wanted = new Set([...next.childNodes].map(keyOf).filter(Boolean));
  let at = now.firstChild;
  for (const child of [...next.childNodes]) {
    let found = at;
    while (found && !isSame(found, child)) found = found.nextSibling;
    if (!found) {
      now.insertBefore(document.importNode(child, true), at);
      continue;
    }
    while (at !== found && !wanted.has(keyOf(at))) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
    if (at === found) at = at.nextSibling;
    else now.insertBefore(found, at);
    change(found, child);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
};
const change = (now, next) => {
  if (now.nodeType !== Node.ELEMENT_NODE) {
    if (now.data !== next.data) now.data = next.data;
    return;
  }
  changeAttributes(now, next);
  changeChildren(now, next);
};
document.addEventListener("htmx:beforeSwap", (event) => {
  const part = event.detail.requestConfig.elt;
  if (!part.dataset.inPlace || !event.detail.shouldSwap) return;
  event.detail.shouldSwap = false;
  const page = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
  tellTime(page);
  const focused = document.activeElement;
  for (const id of part.dataset.inPlace.split(" ")) {
    const now = document.getElementById(id), next = page.getElementById(id);
    if (now && next) change(now, next);
    else if (now && now === part) changeChildren(now, page.body);  // a fragment: what is in it
  }
  if (focused !== document.activeElement && focused.isConnected) focused.focus({preventScroll: true});
  htmx.process(part);
  for (const form of document.forms) count(form);
});

// A form that cannot be undone asks once more.
document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm || event.target.dataset.confirm;
  const over = event.submitter?.dataset.over;  // only a text that is there is asked about
  if (over && !document.getElementById(over).value) return;
  if (question && !window.confirm(question)) event.preventDefault();
});

// An inventory is a table, whatever the new document was before.
document.addEventListener("change", (event) => {
  const format = event.target.form?.elements["format"];
  if (event.target.id !== "kind" || !format?.options) return;
  const isTable = event.target.value === "inventory";
  if (isTable !== ["csv", "columns"].includes(format.value)) format.value = isTable ? "csv" : "toml";
});

// A form with data-draft is kept in this tab (sessionStorage) from the first change until it was saved or thrown away: it
// is there again after Back, a reload, or a log-in. What the server was sent and has not saved has data-sent; an earlier
// version, which nobody typed, has data-earlier: it is kept once it is changed, and what is kept is not put over it.
const person = document.getElementById("drafts")?.dataset.who ?? "";
const PREFIX = `draft ${person} `;
const OF_A_PAGE = ["csrf", "once", "given", "proposal", "seen"];
const drafted = () => [...document.querySelectorAll("form[data-draft]")];
const fieldsOf = (form) => [...form.elements].filter((field) =>
  field.name && !OF_A_PAGE.includes(field.name) && !["submit", "button", "file"].includes(field.type));
const nameOf = (field) => field.type === "checkbox" ? `${field.name} ${field.value}` : field.name;  // of many boxes each
const valuesOf = (form) => fieldsOf(form).map((field) => [nameOf(field), field.type === "checkbox" ? field.checked : field.value]);
const startOf = (field) => field.type === "checkbox" ? field.defaultChecked
  : field.options ? ([...field.options].find((option) => option.defaultSelected) ?? field.options[0])?.value
  : field.defaultValue;
const isChanged = (form) => fieldsOf(form).some((field) =>
  field.type !== "hidden" && !field.readOnly && startOf(field) !== (field.type === "checkbox" ? field.checked : field.value));
const read = (key) => { try { return JSON.parse(sessionStorage.getItem(key) ?? "null"); } catch { return null; } };
const throwAway = (draft) => sessionStorage.removeItem(PREFIX + draft);
let isKept = true;
const keep = () => {
  for (const form of drafted()) {
    if (!isChanged(form) && !("sent" in form.dataset)) {
      if (!form.dataset.restored && !("earlier" in form.dataset)) throwAway(form.dataset.draft);  // it was changed back
      continue;
    }
    const draft = { at: Date.now(), where: form.dataset.home, title: document.title, values: valuesOf(form) };
    try {
      sessionStorage.setItem(PREFIX + form.dataset.draft, JSON.stringify(draft));
      isKept = true;
    } catch {  // it is larger than what a tab may keep
      isKept = false;
    }
  }
};
const say = (where, ...parts) => { where.replaceChildren(...parts); where.hidden = !parts.length; };
const button = (text, act) => {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: "link", textContent: text, onclick: act });
  return made;
};
const restore = () => {
  for (const form of drafted()) {
    const key = PREFIX + form.dataset.draft, draft = read(key);
    if (form.dataset.restored || form.dataset.seen) continue;
    form.dataset.seen = "1";
    if (!draft || "sent" in form.dataset || "earlier" in form.dataset) continue;
    const fields = fieldsOf(form), left = {}, isOn = (field) => field.type === "checkbox" ? field.checked : field.value;
    for (const [name, value] of draft.values) (left[name] ??= []).push(value);
    const wanted = fields.map((field) => left[nameOf(field)]?.shift());
    const isAdded = (field, at) => wanted[at] === undefined && field.type === "checkbox";  // it came to the page meanwhile
    const note = document.createElement("p");
    note.className = "note";
    note.setAttribute("role", "status");
    const dropped = button("Throw it away", () => { throwAway(form.dataset.draft); delete form.dataset.draft; location.reload(); });
    if (fields.some((field, at) => field.type !== "hidden" && wanted[at] === undefined && !isAdded(field, at)) || left.cell?.length) {
      const texts = draft.values.filter(([name, value]) => name === "cell" && value).map(([, value]) => value);
      note.append(`What you wrote here is not saved, and its columns have changed: ${texts.join(" · ")} `, dropped);
    } else {
      if (fields.every((field, at) => field.type === "hidden" || isAdded(field, at) || isOn(field) === wanted[at])) {
        if (!isChanged(form)) throwAway(form.dataset.draft);
        continue;
      }
      fields.forEach((field, at) => {
        if (wanted[at] === undefined) return;
        if (field.type === "checkbox") field.checked = wanted[at]; else field.value = wanted[at];
      });
      note.append(`What you wrote here at ${new Date(draft.at).toLocaleTimeString()} is not saved yet, and is below. `, dropped);
    }
    form.dataset.restored = "1";
    (form.matches(".card") ? form : document.getElementById("inventory") ?? form).before(note);
  }
  list();
};
const list = () => {
  const where = document.getElementById("drafts"), here = drafted().map((form) => PREFIX + form.dataset.draft);
  if (!where) return;
  const found = Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX) && !here.includes(key));
  const parts = found.flatMap((key) => {
    const { where: address, title } = read(key) ?? {}, link = document.createElement("a");
    if (!address?.startsWith("/console/")) return [];
    link.href = address;
    link.textContent = title.replace(" · answerd", "");
    return [link, " ", button("Throw it away", () => { sessionStorage.removeItem(key); list(); }), "; "];
  });
  say(where, ...(parts.length ? ["Not saved yet: ", ...parts.slice(0, -1)] : []));
};
// Not on a page that was come back to: what it says was saved is not what was sent last.
const isNew = performance.getEntriesByType("navigation")[0]?.type === "navigate";
if (isNew && document.querySelector("[data-saved]")) throwAway(sessionStorage.getItem("sent"));
sessionStorage.removeItem("sent");
restore();
document.addEventListener("htmx:afterSettle", restore);
let soon;
for (const kind of ["input", "change", "keyup", "paste", "drop", "click"]) {
  document.addEventListener(kind, () => { clearTimeout(soon); soon = setTimeout(keep, 200); });
}
document.addEventListener("visibilitychange", keep);
window.addEventListener("pagehide", keep);
document.addEventListener("htmx:beforeSwap", keep);
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-throw]");
  if (!link) return;
  for (const form of drafted().filter((form) => form.dataset.draft === link.dataset.throw)) delete form.dataset.draft;
  throwAway(link.dataset.throw);
});

// A text that was changed and not sent is not left without a question: a tab that is closed keeps nothing.
let isSent = false;
const isUnsaved = () => drafted().some((form) => isChanged(form));
window.addEventListener("beforeunload", (event) => {
  if (!isSent && isUnsaved()) event.preventDefault();
});

// A form is sent once, and only while the service answers and the session is there: until then all of it stays here.
const unsent = document.getElementById("unsent"), again = document.getElementById("again");
const later = () => isKept ? " What you wrote is kept in this tab." : " Leave this page open: what you wrote is too large to be kept otherwise.";
const logInHere = () => new Promise((resolve) => {
  const form = again.querySelector("form"), fault = form.querySelector(".note"), token = form.querySelector("input");
  fault.hidden = true;
  again.onclose = () => resolve(false);
  form.querySelector("[value=later]").onclick = () => again.close();
  form.onsubmit = async (event) => {
    event.preventDefault();
    try {
      const body = new URLSearchParams({ token: token.value });
      const reply = await fetch("/console/login", { method: "POST", body, redirect: "manual" });
      if (reply.type === "opaqueredirect") {
        token.value = "";
        resolve(true);
        again.close();
        return;
      }
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      say(fault, page.querySelector("[role=alert]")?.textContent ?? "That did not work.");
    } catch {
      say(fault, "The service does not answer.");
    }
  };
  if (!again.open) again.showModal();
  token.focus();
});
const session = async (path) => {
  for (;;) {
    const reply = await fetch(`/console/session?form=${encodeURIComponent(path)}`, { cache: "no-store" });
    if (reply.ok) return reply.json();
    if (reply.status !== 401) throw new Error(reply.statusText);
    keep();
    if (!await logInHere()) return null;
  }
};
document.addEventListener("submit", async (event) => {
  const form = event.target, submitter = event.submitter;
  if (!again || event.defaultPrevented || form.method !== "post" || form.closest("dialog")) return;  // or it is the log-in
  if (form.dataset.ready) {
    delete form.dataset.ready;
    isSent = true;
    return;
  }
  event.preventDefault();
  if (form.dataset.sending) return;  // the button was pressed twice
  form.dataset.sending = "1";
  const path = new URL(form.action).pathname;
  if (path === "/console/logout") {
    const count = Object.keys(sessionStorage).filter((key) => key.startsWith("draft ")).length;
    if (count && !window.confirm(`${count === 1 ? "A text is" : `${count} texts are`} not saved. Log out and throw away what is not saved?`)) {
      delete form.dataset.sending;
      return;
    }
    for (const one of drafted()) delete one.dataset.draft;
    Object.keys(sessionStorage).filter((key) => key.startsWith("draft ")).forEach((key) => sessionStorage.removeItem(key));
    form.dataset.ready = "1";
    setTimeout(() => form.requestSubmit(submitter));  // not while it is being sent
    return;
  }
  say(unsent);
  keep();
  try {
    const found = await session(path);
    if (found?.may) {
      for (const field of document.querySelectorAll("input[name=csrf]")) field.value = found.csrf;
      if (form.dataset.draft) sessionStorage.setItem("sent", form.dataset.draft);
      form.dataset.ready = "1";
      form.requestSubmit(submitter);
      return;
    }
    say(unsent, found ? `Not sent: ${found.who} may not do that.${later()}` : `Not sent: nobody is logged in.${later()}`);
  } catch {
    say(unsent, `Not sent: the service does not answer. Try again in a moment.${later()}`);
  }
  delete form.dataset.sending;
});
window.addEventListener("pageshow", () => {
  isSent = false;
  for (const form of document.forms) delete form.dataset.sending;
});
// A page that follows what happens is not left for the log-in while something is written on it.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (event.detail.xhr.status !== 401 || !isUnsaved()) return;
  event.preventDefault();
  keep();
  if (!again.open) logInHere();
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
