// The document editor of the console: CodeMirror over a <textarea data-family="toml">, which stays the form's field.
// Without JavaScript the textarea itself is the editor.
import { basicSetup } from "codemirror";
import { EditorView } from "@codemirror/view";
import { EditorState } from "@codemirror/state";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { json } from "@codemirror/lang-json";
import { xml } from "@codemirror/lang-xml";
import { yaml } from "@codemirror/lang-yaml";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { tags } from "@lezer/highlight";

const languages = {  // by family
  toml: () => StreamLanguage.define(toml),
  yaml, json, xml,
  text: () => StreamLanguage.define(shell),
};

// Colours are variables of the console's stylesheet, so that the light and the dark scheme need no second theme.
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.tagName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.attributeValue], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--code-comment)" },
  { tag: [tags.keyword, tags.attributeName, tags.standard(tags.variableName)], color: "var(--code-keyword)" },
]);
const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--field)", fontSize: "inherit" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--select) !important" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-panel.cm-search": { padding: "8px 12px", fontFamily: "var(--sans)" },
  ".cm-panel.cm-search label": { fontSize: "13px" },
  ".cm-panel.cm-search [name=close]": { color: "var(--text)", fontSize: "20px" },
  ".cm-textfield": { backgroundColor: "var(--field)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-textfield::placeholder": { color: "var(--muted)", opacity: 1 },
  ".cm-button": { backgroundColor: "var(--surface)", backgroundImage: "none", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-searchMatch": { backgroundColor: "var(--busy-soft)", outline: "1px solid var(--busy)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--select)" },
  ".cm-selectionMatch": { backgroundColor: "var(--select)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-text)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--hover)", color: "var(--text)", borderColor: "var(--line)" },
});

function problemsOf(area) {
  try {
    return JSON.parse(area.dataset.problems || "[]");
  } catch {
    return [];
  }
}

function mount(area) {
  const nonce = document.querySelector("meta[name=csp-nonce]")?.content || "";
  const language = languages[area.dataset.family];
  const readOnly = area.readOnly;
  const view = new EditorView({
    parent: area.parentElement,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        basicSetup,
        // Tab is left to the browser: it leads out of the editor, and changes nothing.
        language ? language() : [],
        syntaxHighlighting(colours),
        theme,
        lintGutter(),
        EditorView.cspNonce.of(nonce),
        EditorView.contentAttributes.of({ "aria-label": area.getAttribute("aria-label") || "Document", tabindex: "0" }),
        EditorState.readOnly.of(readOnly),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) area.value = update.state.doc.toString();
        }),
      ],
    }),
  });
  area.hidden = true;
  const found = problemsOf(area).map(({ line, message }) => {
    const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
    return { from: at.from, to: at.to, severity: "error", message };
  });
  view.dispatch(setDiagnostics(view.state, found));
  const wanted = Number(area.dataset.line);
  if (wanted > 0) {  // the page was opened for a line
    const { from, to } = view.state.doc.line(Math.min(wanted, view.state.doc.lines));
    view.dispatch({ selection: { anchor: to, head: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    view.focus();
  }
}

document.querySelectorAll("textarea[data-family]").forEach(mount);
