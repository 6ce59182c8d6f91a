% rebase('layout', title=name, current='/console/machines')
<div class="head">
  <h1>{{name}}
  % if record:
    <span class="state {{record['state']}}">{{record['state']}}</span>
    % if record.get('silent'):
    <span class="state silent">silent</span>
    % end
  % end
  </h1>
  % if request.sees_secrets:
  <a class="sub" href="{{link('/console/machine', id=name, secrets='' if show_secrets else '1')}}">{{'Mask secrets' if show_secrets else 'Show secrets'}}</a>
  % end
</div>
<div class="grid">
  <section class="card" aria-labelledby="who">
    <h2 id="who">Who it is</h2>
    <dl>
      <dt>Identities</dt><dd class="mono">
      % for identity in identities:
        <div>{{identity}}</div>
      % end
      </dd>
      % if row:
      % for label, value in row.cells:
      <dt>{{label}}</dt><dd>{{value or '–'}}</dd>
      % end
      <dt>Row</dt><dd class="mono">{{row.place}}</dd>
      % end
      <dt>Documents</dt><dd>
      % for kind, identifier, extension, shown in documents:
        <div><a href="{{document_link(kind, identifier, extension)}}">{{shown}}</a></div>
      % end
      % if not documents:
        none by its name or row
      % end
      </dd>
    </dl>
  </section>
  % if has_states:
  <section class="card" aria-labelledby="install">
    <h2 id="install">Install</h2>
    % if record:
    <dl>
      <dt>State</dt><dd><span class="state {{record['state']}}">{{record['state']}}</span></dd>
      <dt>Since</dt><dd><span title="{{exact(record['since'])}}">{{ago(record['since']) or '–'}}</span></dd>
      <dt>Starts</dt><dd>{{record['starts']}}</dd>
      % if record.get('message'):
      <dt>Message</dt><dd>{{record['message']}}</dd>
      % end
      % if record.get('percent') is not None:
      <dt>Progress</dt><dd><progress max="100" value="{{record['percent']}}" aria-label="Progress">{{record['percent']}} %</progress> {{record['percent']}} %</dd>
      % end
    </dl>
    % else:
    <p class="muted">Nothing was given to this machine with <code>once</code> yet: it is new.</p>
    % end
    % if request.may_operate:
    <form method="post" action="/console/machines">
      <input type="hidden" name="csrf" value="{{request.session.csrf}}">
      <input type="hidden" name="machine" value="{{name}}">
      <input type="hidden" name="back" value="{{machine_link(name)}}">
      <div class="actions">
        <button name="do" value="arm">Arm</button><button name="do" value="disarm">Disarm</button>
        <button name="do" value="forget" class="danger" data-confirm="Forget {{name}} and its history?">Forget</button>
      </div>
    </form>
    % end
  </section>
  % end
</div>
% if not answers:
<div class="card empty"><h2>Nothing claims this machine</h2>
<p>No document names it, no group has it as a member, and no pattern matches its name alone. \\
% if writable and request.may_edit:
Write a document for it, or find out what a request of it would get.</p>
<p><a class="button" href="{{link('/console/document/new', kind='machine', name=name)}}">New document</a> \\
% elif writable:
A token with the role admin can write a document for it. Find out what a request of it would get.</p>
<p>\\
% else:
Write a file <code>{{name}}.toml</code>, or of another format, in the answers directory, or find out what a request of it would get.</p>
<p>\\
% end
<a class="button" href="{{link('/console/try', query=('mac=' if is_mac(name) else 'id=') + name)}}">Try a request</a></p></div>
% end
% for answer, why in answers:
<section class="card" aria-label="Answer in {{answer.format}}">
  <h2>{{answer.format}}</h2>
  % include('answer', answer=answer)
  <details class="why"><summary>Why <span class="muted">what was considered, and why it won or lost</span></summary>
  % include('steps', steps=why, label='Reasoning, ' + answer.format)
  </details>
</section>
% end
% if not answers:
<details class="card" open><summary><strong>Why</strong> <span class="muted">what was considered, and why it lost</span></summary>
% include('steps', steps=steps, label='Reasoning')
</details>
% end
% if events:
<section class="card" aria-labelledby="history"><h2 id="history">History</h2>
<ul class="list">
% for event in events:
<li{{!'' if event['counts'] else ' class="muted"'}}><span class="muted" title="{{exact(event['at'])}}">{{ago(event['at'])}}</span> <strong>{{event['event']}}</strong> {{event['detail']}}
% if event['from']:
<span class="muted">from {{event['from']}}</span>
% end
% if not event['counts']:
<span class="muted">(changed nothing)</span>
% end
% if event['body']:
<details><summary class="muted">what came with it</summary><pre tabindex="0" role="region" aria-label="Body of the report">{{event['body']}}</pre></details>
% end
</li>
% end
</ul></section>
% end
% if captured:
<section class="card" aria-labelledby="captured"><h2 id="captured">Recorded requests</h2>
<ul class="list">
% for capture in captured:
<li><span class="mono">{{capture.request_line}}</span> <span class="muted" title="{{exact(capture.time)}}">{{ago(capture.time)}}</span> <span class="muted">{{capture.outcome}}</span> <a href="{{link('/console/try', replay=capture.name)}}">Replay</a></li>
% end
</ul></section>
% end
