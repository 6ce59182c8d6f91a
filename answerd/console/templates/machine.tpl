% rebase('layout', title=name, current='/console/machines')
% LISTED = 20
<div class="head">
  <h1>{{name}}
  <span id="badge">
  % if record:
    <span class="state {{record['state']}}">{{record['state']}}</span>
    % if record.get('silent'):
    <span class="state silent">silent</span>
    % end
  % elif visitor:
    <span class="state unknown">unknown</span>
  % end
  </span></h1>
  % if request.sees_secrets and is_known and not visitor:
  <a class="sub" href="{{link('/console/machine', id=name, answer=request.get('answer'), secrets='' if show_secrets else '1')}}">{{'Mask secrets' if show_secrets else 'Show secrets'}}</a>
  % end
</div>
% include('done', done=done, notice=notice, back=machine_link(name))
% if not is_known:
<div class="card empty"><h2>No machine of this name is known</h2>
<p>It has no row and no document, {{'whether it asked is not known' if faults else 'has never asked'}}, and no group has it as a member. <a href="{{link('/console/machines', q=name)}}">Search for it</a>, or find out what a request of it would get.</p>
<p><a class="button" href="{{link('/console/try', query=('mac=' if is_mac(name) else 'id=') + name)}}">Try a request</a>
% if writable and request.may_edit:
<a class="button" href="{{link('/console/document/new', kind='machine', name=name)}}">New document</a>
% elif not writable:
Write a file <code>{{name}}.toml</code>, or of another format, in the answers directory.
% end
</p></div>
% end
<div id="happened" data-in-place="happened badge"
% if has_states and is_known:
 hx-get="{{where}}&amp;state={{state}}" hx-trigger="every 3s" hx-select="#happened" hx-swap="outerHTML"
% end
>
% if verdict:
<section class="card verdict {{verdict.tone}}" aria-label="Verdict">
<p>{{!in_pieces(verdict.pieces)}}</p>
% if verdict.ways or (verdict.order and request.may_operate):
<form class="actions" method="post" action="/console/machines">
% for way in verdict.ways:
<a class="button{{' main' if way == verdict.ways[0] else ''}}" href="{{way.address}}">{{way.words}}</a>
% end
% if verdict.order and request.may_operate:
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="machine" value="{{name}}"><input type="hidden" name="back" value="{{machine_link(name)}}">
<button name="do" value="arm"{{!'' if verdict.ways or verdict.tone == 'good' else ' class="main"'}}>Let it install …</button>
% end
</form>
% end
</section>
% end
% if visitor:
<section class="card" aria-labelledby="sent"><h2 id="sent">What it sent</h2>
<dl>
% for label, values in facts:
<dt>{{label}}</dt><dd class="mono">{{values}}</dd>
% end
</dl>
<p class="actions"><a class="button" href="{{tries}}">Try a request</a></p>
</section>
% end
% if failure:
<section class="card failure" aria-labelledby="failure"><h2 id="failure">{{'Failed' if record['state'] == 'failed' else 'Its starts are used up'}} {{ago(failure['at'])}} <span class="muted">{{exact(failure['at'])}}</span></h2>
<p class="why-it-failed">{{failure['why'] or 'It did not say why.'}}</p>
% if failure['log']:
<h3>What it sent with the report</h3>
% before, last = last_lines(failure['log'])
<pre tabindex="0" role="region" aria-label="Log of the failure">{{last}}</pre>
% if before:
<details><summary>{{counted(len(before.splitlines()), 'line')}} before these</summary><pre tabindex="0" role="region" aria-label="Log before the failure">{{before}}</pre></details>
% end
% end
</section>
% elif record and record.get('conflict'):
<section class="card failure" aria-labelledby="failure"><h2 id="failure">Its identities contradict each other</h2>
<ul>
% for part in record['conflict']:
<li><code>{{part['identity']}}</code> is {{part['state']}} <span class="muted">{{ago(part['since'])}}</span></li>
% end
</ul>
<p>It is refused until the row names one machine, or an operator says which holds: <strong>Arm</strong> lets it install, <strong>Disarm</strong> keeps it as it is.</p>
</section>
% elif record and record.get('silent'):
<section class="card failure" aria-labelledby="failure"><h2 id="failure">Silent since {{ago(record['heard'] or record['since'])}} <span class="muted">{{exact(record['heard'] or record['since'])}}</span></h2>
<p class="why-it-failed">It should have reported by now. {{'The last that it did: ' + record['last_step'] if record['last_step'] else ''}}</p>
</section>
% end
% if contact:
<section class="card" aria-labelledby="contact"><h2 id="contact">Last asked {{ago(contact['at'])}} <span class="muted">{{exact(contact['at'])}}</span></h2>
<p>For <code>{{contact['asked']}}</code>: {{contact['status']}}, {{contact['got']}}</p>
<details><summary class="muted">what it said</summary><dl>
% for label, values in contact['labels'].items():
<dt>{{label}}</dt><dd>{{', '.join(values)}}</dd>
% end
</dl></details>
</section>
% end
% if has_states and is_known and not visitor:
<section class="card" aria-labelledby="install">
  <h2 id="install">Install</h2>
  % if record:
  <dl>
    <dt>State</dt><dd><span class="state {{record['state']}}">{{record['state']}}</span></dd>
    <dt>Since</dt><dd>{{ago(record['since']) or '–'}} <span class="muted">{{exact(record['since'])}}</span></dd>
    <dt>Starts</dt><dd>{{record['starts']}}</dd>
    % if record.get('message') and not failure:
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
      <button name="do" value="arm">Arm …</button><button name="do" value="disarm">Disarm …</button>
      <button name="do" value="forget" class="danger">Forget …</button>
    </div>
  </form>
  % end
</section>
% end
% if line:
<section class="card" aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>
% drawn = picture(line)
% if drawn:
<div class="scroll" tabindex="0" role="region" aria-label="Timeline of the last install">{{!drawn}}</div>
% end
<ol class="marks">
% for mark in line.marks:
<li class="{{mark.tone}}" value="{{mark.number}}"><time datetime="{{stamp(mark.at)}}" title="{{exact(mark.at)}}">{{exact(mark.at)[11:19]}}</time> <span class="muted">{{mark.after}}</span> {{'✕ ' if mark.tone == 'bad' else ''}}{{mark.words}}</li>
% end
</ol>
</section>
% end
% if events:
<section class="card" aria-labelledby="history"><h2 id="history">History</h2>
<ol class="timeline">
% for number, event in enumerate(events):
% if number == LISTED:
</ol><details><summary>{{counted(len(events) - LISTED, 'earlier event')}}</summary><ol class="timeline">
% end
<li data-key="{{event['at']}} {{event['event']}} {{event['detail'][:80]}}"{{!'' if event['counts'] else ' class="muted"'}}><span class="when"><time datetime="{{event['at']}}">{{exact(event['at'])}}</time> <span class="muted">{{ago(event['at'])}}</span></span>
<span><strong>{{event['event']}}</strong> {{event['detail']}}
% if event['from']:
<span class="muted">from {{event['from']}}</span>
% end
% if not event['counts']:
<span class="muted">(changed nothing)</span>
% end
% if event['body']:
% before, last = last_lines(event['body'])
<details><summary class="muted">what came with it</summary><pre tabindex="0" role="region" aria-label="Body of the report">{{last}}</pre>
% if before:
<details><summary class="muted">{{counted(len(before.splitlines()), 'line')}} before these</summary><pre tabindex="0" role="region" aria-label="Body of the report before that">{{before}}</pre></details>
% end
</details>
% end
</span></li>
% end
</ol>
% if len(events) > LISTED:
</details>
% end
</section>
% end
</div>
% if is_known and not visitor:
<section class="card" aria-labelledby="who">
  <h2 id="who">Who it is</h2>
  % if writable:
  <p><a href="{{changes_address}}">Changes of its row and its documents</a></p>
  % end
  <dl class="wide">
    <dt>Identities</dt><dd class="mono">
    % for identity in identities:
      <div>{{identity}}</div>
    % end
    </dd>
    % if row:
    % for label, value in row.cells:
    <dt>{{label}}</dt><dd>{{value or '–'}}</dd>
    % end
    <dt>Row</dt><dd class="mono">\\
    % if row.address:
<a href="{{row.address}}">{{row.place}}</a>
    % if writable and request.may_edit_rows:
 <a href="{{row.edit_address}}">Edit</a>
    % end
    % else:
{{row.place}}
    % end
    </dd>
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
% end
% if chosen:
<section class="card" id="answers" aria-labelledby="answer">
  <h2 id="answer">What it would get</h2>
  % if asked_at:
  <p class="muted">With what it said of itself <time datetime="{{stamp(asked_at)}}" title="{{exact(asked_at)}}">{{ago(asked_at)}}</time>, as if it might install.</p>
  % elif has_states:
  <p class="muted">By its name and row alone, as if it might install: what holds only for a request that says more is not in it.</p>
  % end
  <nav class="tabs" aria-label="Formats">
  % for answer in answers:
  % address = link('/console/machine', id=name, answer=answer.format, secrets='1' if show_secrets else '')
    <a href="{{address}}#answers" hx-get="{{address}}" hx-select="#answers" hx-target="#answers" hx-swap="outerHTML show:none" hx-push-url="true"{{!' aria-current="true"' if answer.format == chosen.format else ''}}>{{answer.format}}
    % if answer.reason or (answer.format == chosen.format and chosen.findings):
    <span class="state problem">problem</span>
    % end
    </a>
  % end
  </nav>
  % include('answer', answer=chosen)
  % include('paging', at=chosen.page, pages=chosen.pages, what='lines', address=lambda number: link('/console/machine', id=name, answer=chosen.format, page=number, secrets='1' if show_secrets else '') + '#answers')
  <details class="why"><summary>Why <span class="muted">what was considered, and why it won or lost</span></summary>
  % include('steps', steps=steps, label='Reasoning, ' + chosen.format)
  </details>
</section>
% elif is_known and not visitor:
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
% if not chosen and is_known:
<details class="card"><summary><strong>Why</strong> <span class="muted">what was considered, and why it lost</span></summary>
% include('steps', steps=steps, label='Reasoning')
</details>
% end
% if has_recordings and is_known:
<section class="card" id="recorded" aria-labelledby="captured"
% if recorded is None:
 hx-get="{{where}}&amp;recordings=1" hx-trigger="load" hx-select="#recorded" hx-swap="outerHTML"
% end
><h2 id="captured">Recorded requests</h2>
% if recorded is None:
<p><a href="{{where}}&amp;recordings=1#recorded">Show recorded requests</a></p>
% elif not recorded:
<p class="muted">None carries a name of this machine.</p>
% else:
<ul class="list">
% for capture in recorded:
<li><span class="mono">{{capture.request_line}}</span> <span class="muted" title="{{exact(capture.time)}}">{{ago(capture.time)}}</span> <span class="muted">{{capture.outcome}}</span> <a href="{{link('/console/try', replay=capture.name)}}" aria-label="Replay the request of {{exact(capture.time)}}">Replay</a></li>
% end
</ul>
% end
</section>
% end
