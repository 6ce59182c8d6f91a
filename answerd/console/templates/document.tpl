% rebase('layout', title=title, current="/console/documents", editor=True)
<div class="head"><h1>{{title}}</h1>
% if etag:
<span class="sub">version <span class="mono">{{etag.strip('"')}}</span></span>
% end
</div>
% if message:
<div class="note {{'bad' if failed else 'good'}}" role="alert"{{!' data-saved' if is_removed and not failed else ''}}><p>{{message}}</p>
% if problems:
<ul class="list">
% for problem in problems:
<li>{{problem}}</li>
% end
</ul>
% end
</div>
% end
% if other is not None:
<section class="card" aria-labelledby="other"><h2 id="other">What was stored meanwhile</h2>
% if etag:
<p class="muted">Your text is below, and not stored. Put what you want to keep together there, then save.</p>
% else:
<p class="muted">The document is gone. Your text is below, and not stored. Saving it now writes the document anew.</p>
% end
<pre class="diff" tabindex="0" role="region" aria-label="Difference between the stored text and yours">
% for line in other:
<span class="{{diff_class(line)}}">{{line}}</span>\\
% end
</pre></section>
% end
% if consequences is not None:
% include('consequences', consequences=consequences, verb=verb)
% end
% if is_large:
<p class="note">This inventory is too large for the editor: <a href="{{link('/console/inventory', name=identifier)}}">edit its rows</a>, or download it and upload it again.</p>
% else:
<form class="card" id="editor" method="post" action="/console/document" \\
% if writable:
data-draft="{{draft}}" data-home="{{link('/console/document/new') if is_new else link('/console/document', kind=kind, name=identifier, format=extension, **{'as': 'text' if kind == 'inventory' else ''})}}"{{!' data-sent' if is_sent else ' data-earlier' if is_earlier else ''}}\\
% end
>
  <input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="draft" value="{{draft}}">
  <input type="hidden" name="etag" value="{{etag}}">
  % if is_new:
  <div class="row">
    <div class="field"><label for="kind">Kind</label><select id="kind" name="kind">
    % for option in kinds:
      <option{{!' selected' if option == kind else ''}}>{{option}}</option>
    % end
    </select></div>
    <div class="field wide"><label for="name">Name <span class="hint">MAC address, serial number or name; empty for a default</span></label><input id="name" name="name" value="{{identifier}}"></div>
    <div class="field"><label for="format">Format</label><select id="format" name="format">
    % for option in formats:
      <option{{!' selected' if option == extension else ''}}>{{option}}</option>
    % end
    </select></div>
  </div>
  <p></p>
  % else:
  <input type="hidden" name="kind" value="{{kind}}"><input type="hidden" name="name" value="{{identifier}}"><input type="hidden" name="format" value="{{extension}}">
  % end
  <div class="field">
    <label for="text">Text{{'' if writable else ' (read only)' if request.sees_secrets else ' (read only, without secrets)'}}</label>
    <textarea id="text" name="text" rows="24" spellcheck="false" aria-label="Text of the document" data-family="{{family}}"{{!f' data-line="{line}"' if line else ''}} data-problems="{{as_json(marks)}}"{{!'' if writable else ' readonly'}}>
{{text}}</textarea>
  </div>
  % if writable:
  <div class="field"><label for="note">Note <span class="hint">why; kept in the history</span></label><input id="note" name="note" value="{{note}}" maxlength="500"></div>
  % include('strict', strict=strict)
  <div class="actions">
    <button class="main" name="do" value="preview">Preview what changes</button>
    <button name="do" value="save" title="Ctrl-S" aria-keyshortcuts="Control+S">Save</button>
    % if not is_new:
    <button class="danger" name="do" value="preview-delete">Delete …</button>
    % else:
    <button name="do" value="start" formnovalidate data-confirm="Replace your text?" data-over="text">Start from a template</button>
    % end
  </div>
  % end
</form>
% end
% if used_by or not is_current:
<section class="card" id="used" aria-labelledby="dependents"
% if not is_current:
 hx-get="{{document_link(kind, identifier, extension)}}" hx-trigger="load delay:1s" hx-select="#used" hx-swap="outerHTML"
% end
><h2 id="dependents">Who depends on it</h2>
% if not used_by:
<p class="muted">This is being looked up.</p>
% end
<dl>
% for dependents in used_by:
<dt>{{dependents.word}}</dt><dd>\\
% if dependents.where:
<a href="{{dependents.where}}">{{dependents.total}}</a>:
% else:
{{dependents.total}}:
% end
% for name in dependents.names:
<span class="whole">{{name}}</span>
% end
</dd>
% end
</dl></section>
% end
% if history:
<section class="card" id="history" aria-labelledby="past"><h2 id="past">History</h2>
<ul class="list">
% for number, change in enumerate(history):
<%
is_open = change.revision == opened
where = link('/console/document', kind=kind, name=identifier, format=extension, change='' if is_open else change.revision, **{'as': request.get('as')})
%>
<li><a href="{{where}}#history" aria-expanded="{{'true' if is_open else 'false'}}"\\
% if not is_removed:
 hx-get="{{where}}" hx-select="#history" hx-target="#history" hx-swap="outerHTML show:none"\\
% end
><span title="{{exact(change.when)}}">{{ago(change.when)}}</span> · {{change.what}} by {{change.who}}</a>{{': ' + change.note if change.note else ''}} <span class="muted">revision {{change.revision}}</span>
% if writable and not number:
<a href="{{link('/console/document/earlier', revision=change.revision)}}" aria-label="Undo revision {{change.revision}}">Undo …</a>
% elif writable and change.what != 'removed':
<a href="{{link('/console/document/earlier', revision=change.revision, side='after')}}" aria-label="Restore revision {{change.revision}}">Restore …</a>
% end
% if is_open:
<pre class="diff" tabindex="0" role="region" aria-label="Difference of revision {{change.revision}}">
% for line in difference:
<span class="{{diff_class(line)}}">{{line}}</span>\\
% end
</pre>
% end
</li>
% end
</ul></section>
% end
