<%
# What a write would change, as a fragment: needs ``consequences`` (answerd.console.consequences.Consequences) and ``verb``,
# which the form of the editor is sent with: ``save``, ``delete`` or ``take-back``.
pending, word = consequences.is_pending, {'delete': 'deleting', 'take-back': 'taking it back'}.get(verb, 'saving')
LISTED, NAMED, OPEN = 8, 100, 6
%>
<section class="card" id="consequences" aria-labelledby="consequences-head"
% if pending:
 hx-get="{{link('/console/document/preview', of=consequences.name, verb=verb, save=save if defined('save') else '')}}" hx-trigger="load delay:500ms" hx-swap="outerHTML"
% end
><h2 id="consequences-head">What {{word}} would change</h2>
% if pending:
<p role="status">Comparing {{format(consequences.total, ',') + ' ' if consequences.total else ''}}answers, before and after …</p>
<p><progress class="long" max="{{consequences.total or 1}}" value="{{consequences.compared}}" aria-label="Answers compared"></progress></p>
<noscript><p class="muted">Press <em>Preview what changes</em> again in a moment: what is found is kept.</p></noscript>
% elif consequences.refused:
<p class="note bad">It would be refused: {{consequences.refused}}</p>
<ul class="list">
% for problem in consequences.problems:
<li>{{problem}}</li>
% end
</ul>
% else:
% for of, words in ((consequences.newly_refused, 'would be refused by the installer'), (consequences.still_refused, 'are refused by the installer already, and still would be')):
% if of:
<details class="note{{' bad' if of[0].is_new else ''}} verdict"{{!' open' if of[0].is_new else ''}}><summary><strong>{{counted(max(one.answers for one in of), 'answer')}} {{words}}</strong>{{f', for {len(of)} causes' if len(of) > 1 else ''}}</summary>
<ul class="list">
% for one in of:
<li>{{one.cause}} <span class="muted">{{one.first}}{{f' and {one.answers - 1:,} more' if one.answers > 1 else ''}}</span></li>
% end
</ul></details>
% end
% end
% if consequences.effects and not consequences.verdict and verb != 'delete':
<p class="note good">No installer would refuse an answer that changes, by the built-in rules.</p>
% end
% if not consequences.effects:
<p class="note good">No machine's answer changes.</p>
% end
% for number, effect in enumerate(consequences.effects):
<p class="note{{' bad' if effect.is_loss else ''}}"><strong>{{effect.sentence}}</strong>\\
% if len(effect.machines) > NAMED:
 <a href="{{link('/console/document/preview', of=consequences.name, effect=str(number))}}" aria-label="Which: {{effect.sentence}}">which</a>\\
% end
</p>
% if len(effect.machines) <= NAMED:
<ul class="list names affected" aria-label="{{effect.sentence}}">
% for machine in effect.machines:
<li><a href="{{machine_link(machine.identifier)}}">{{machine.identifier or 'default'}}</a> <span class="muted">{{machine.format}}</span></li>
% end
</ul>
% end
% end
% for note in consequences.notes:
<p class="note">{{note}}</p>
% end
% if len(consequences.changes) > OPEN:
<details><summary>How answers change: {{len(consequences.changes)}} examples</summary>
% end
% for change in consequences.changes:
<%
names = ', '.join(str(machine) for machine in change.machines[:LISTED])
more = len(change.machines) - LISTED
title = counted(len(change.machines), 'answer') + ': ' + names + (f' and {more:,} more' if more > 0 else '')
%>
<details{{!' open' if len(consequences.changes) < 4 else ''}}><summary>{{title}}
% if change.is_loss:
<span class="state problem">no answer</span>
% end
</summary>
<pre class="diff" tabindex="0" role="region" aria-label="{{title}}">
% for line in change.lines:
<span class="{{diff_class(line)}}">{{line}}</span>\\
% end
</pre></details>
% end
% if len(consequences.changes) > OPEN:
</details>
% end
% end
% if consequences.own:
<details{{!'' if consequences.changes else ' open'}}><summary>The document itself</summary>
<pre class="diff" tabindex="0" role="region" aria-label="Difference of the document itself">
% for line in consequences.own:
<span class="{{diff_class(line)}}">{{line}}</span>\\
% end
</pre></details>
% end
% if not pending and not consequences.refused:
<div class="actions selection">
% if verb == 'delete':
<button form="editor" class="danger" name="do" value="delete">Delete it</button>
% else:
<button form="editor" class="main" name="do" value="{{'take-back' if verb == 'take-back' else 'save'}}">{{save if defined('save') else 'Save it'}}</button>
% end
</div>
% end
</section>
