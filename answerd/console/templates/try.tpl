% rebase('layout', title='Try', current='/console/try')
<div class="head"><h1>Try a request</h1><span class="sub">Exactly what the server would answer; nothing is changed or counted.</span></div>
<form class="card" id="request" method="post" action="/console/try">
  <input type="hidden" name="csrf" value="{{request.session.csrf}}">
  <div class="row">
    <div class="field"><label for="path">Path</label><input id="path" name="path" value="{{path}}" placeholder="/proxmox"></div>
    <div class="field wide"><label for="query">Query</label><input id="query" name="query" value="{{query}}" placeholder="mac=98:fa:9b:50:d8:10"></div>
  </div>
  <p></p>
  <div class="row">
    <div class="field"><label for="headers">Headers <span class="hint">one a line</span></label><textarea id="headers" name="headers" rows="4" placeholder="X-System-Serial-Number: 7ABC123">
{{headers}}</textarea></div>
    <div class="field wide"><label for="body">Body</label><textarea id="body" name="body" rows="4" placeholder='{"network_interfaces": [{"mac": "98:fa:9b:50:d8:10"}]}'>
{{body}}</textarea></div>
  </div>
  <div class="actions"><button class="main">Try</button>\\
% if request.sees_secrets:
<label class="row"><input type="checkbox" name="secrets" value="1"{{!' checked' if show_secrets else ''}}> Show secrets</label>\\
% end
</div>
</form>
% if answer is not None:
<section class="card" aria-labelledby="answer"><h2 id="answer">{{'No answer' if answer.reason else 'Answer'}}</h2>
% include('answer', answer=answer)
% if answer.pages > 1:
<div class="actions">
  % for word, number in (('Previous', answer.page - 1), ('Next', answer.page + 1)):
  % if 1 <= number <= answer.pages:
  <button form="request" name="page" value="{{number}}">{{word}}</button>
  % end
  % end
  <span class="muted">Page {{format(answer.page, ',')}} of {{format(answer.pages, ',')}}</span>
</div>
% end
</section>
<section class="card" aria-labelledby="why"><h2 id="why">Why</h2>
% include('steps', steps=steps, label='Reasoning')
</section>
% end
