% rebase('layout', title=f'Take back revision {made.newest.revision}', current='/console/history')
<div class="head"><h1>Take back revision {{made.newest.revision}}?</h1><span class="sub">{{made.what}} by {{made.newest.who}}, <span title="{{exact(made.newest.when)}}">{{ago(made.newest.when)}}</span>{{': ' + made.newest.note if made.newest.note else ''}}</span></div>
% if message:
<div class="note bad" role="alert"><p>{{message}}</p>
% if problems:
<ul class="list">
% for problem in problems:
<li>{{problem}}</li>
% end
</ul>
% end
</div>
% end
<section class="card" aria-labelledby="which"><h2 id="which">{{counted(len(made.documents), 'document')}}</h2>
<ul class="list">
% for change in made.documents[:named]:
<li><a href="{{document_link(change.key.kind, change.key.identifier, change.key.format)}}">{{change.key}}</a> <span class="muted">{{words[change.what]}}</span></li>
% end
</ul>
% if len(made.documents) > named:
<p class="muted">and {{counted(len(made.documents) - named, 'more document')}}</p>
% end
</section>
<form id="editor" class="card" method="post" action="/console/history" data-draft="take back {{made.newest.revision}}" data-home="{{link('/console/history/back', revision=made.newest.revision)}}">
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="revision" value="{{made.newest.revision}}">
<div class="field"><label for="note">Note <span class="hint">why; kept in the history</span></label><input id="note" name="note" value="{{request.field('note')}}" maxlength="450"></div>
</form>
% include('consequences', consequences=consequences, verb='take-back', save='Take it back')
