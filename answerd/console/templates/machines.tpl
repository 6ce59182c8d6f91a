% rebase('layout', title='Machines', current='/console/machines', again=0 if is_current else 1)
<%
def address(**changes):
    given = {'q': view.search, 'state': view.state, 'group': view.group, 'format': view.format, 'sort': view.sort if view.sort != 'name' else '', 'desc': '1' if view.descending else '', 'column': list(view.columns), 'view': 'grid' if view.as_grid else '', 'by': view.by, 'order': view.order, 'page': shown.page if shown.page > 1 else ''}
    return link('/console/machines', **{**given, **changes})
end
def sorted_by(column):
    return address(sort=column if column != 'name' else '', desc='1' if view.sort == column and not view.descending else '', page='')
end
def direction(column):
    return 'none' if view.sort != column else 'descending' if view.descending else 'ascending'
end
def without(word):
    return address(page='', **({word.label: ''} if word.rest == view.search else {'q': word.rest}))
end
may_order = has_states and request.may_operate
here = address()
%>
<div class="head">
  <h1>Machines</h1>
  <span class="sub" id="count">{{counted(shown.found, 'machine')}}{{' of ' + format(shown.total, ',') if shown.found != shown.total else ''}}</span>
</div>
% include('done', done=done, notice=notice, back=here)
<form class="card searching" method="get" action="/console/machines" role="search" aria-label="Machines">
  % for name, value in (('sort', view.sort if view.sort != 'name' else ''), ('desc', '1' if view.descending else ''), ('format', view.format), ('view', 'grid' if view.as_grid else ''), ('by', view.by), ('order', view.order)):
  % if value:
  <input type="hidden" name="{{name}}" value="{{value}}">
  % end
  % end
  <div class="row">
    <div class="field wide"><label for="q">Search</label><input id="q" name="q" value="{{view.search}}" placeholder="Any text of a row or a failure, a MAC address, or a filter like rack:r3 since:1h" autocomplete="off"></div>
    % if has_states:
    <div class="field"><label for="state">State</label>
      <select id="state" name="state"><option value="">Any</option>
      % for option in states:
        <option{{!' selected' if option == view.state else ''}}>{{option}}</option>
      % end
      </select></div>
    % end
    <div class="field"><label for="group">Group</label>
      <input id="group" name="group" value="{{view.group}}" list="groups">
      <datalist id="groups">
      % for group in shown.groups:
        <option value="{{group}}">
      % end
      </datalist></div>
    <div><button class="main">Show</button></div>
  </div>
  <details class="choose"><summary>Columns <span class="muted">{{', '.join(shown.shown)}}</span></summary>
  <div class="choices">
  % for option in columns:
  <label><input type="checkbox" name="column" value="{{option}}"{{!' checked' if option in shown.shown else ''}}> {{option}}</label>
  % end
  </div></details>
  % if shown.filters or view.order:
  <ul class="chips" aria-label="Filters">
  % if view.order:
    <li><a class="chip" href="{{address(order='', page='')}}" aria-label="Remove the filter: machines of one order">machines of one order <span aria-hidden="true">×</span></a></li>
  % end
  % for word in shown.filters:
    <li><a class="chip" href="{{without(word)}}" aria-label="Remove the filter {{word.label}}: {{word.value}}">{{word.label}}: {{word.value}} <span aria-hidden="true">×</span></a></li>
  % end
  </ul>
  % end
</form>
<nav class="tabs views" aria-label="Views">
  <a href="{{address(view='', page='')}}"{{!'' if view.as_grid else ' aria-current="true"'}}>Table</a>
  <a href="{{address(view='grid', page='')}}"{{!' aria-current="true"' if view.as_grid else ''}}>Grid and progress</a>
  % if view.state == 'unknown':
  <a href="/console/adopt">Adopt many …</a>
  % end
  <a class="export" href="{{address(view='', by='', page='').replace('/console/machines', '/console/machines.csv', 1)}}" title="CSV of {{counted(shown.found, 'machine')}}" download>CSV</a>
</nav>
% if not shown.machines:
<div class="card empty">
  % if shown.total:
  <h2>No machine matches</h2>
  <p>Change the search, or <a href="/console/machines">show all {{counted(shown.total, 'machine')}}</a>.</p>
  <p>A filter is <code>state:</code>, <code>group:</code>, <code>format:</code>, <code>since:1h</code>\\
  % for name in shown.columns[:20]:
, <code>{{name}}:</code>\\
  % end
</p>
  % else:
  <h2>No machine is known yet</h2>
  <p>Add a document for a machine or a group with members under <a href="/console/documents">Documents</a>, or power on a machine: one that asks and is claimed by nothing appears here.</p>
  % end
</div>
% elif grid:
<section class="card" id="grid" aria-label="Grid" data-in-place="grid count" hx-get="{{here}}" hx-trigger="{{'' if is_current else 'load delay:1s, '}}every 3s" hx-select="#grid" hx-swap="outerHTML">
% include('progress', grid=grid, drawn=drawn, by_address=lambda choice: address(by=choice, page=''))
</section>
% include('paging', at=grid.page, pages=grid.pages, what='machines', address=lambda number: address(page=number if number > 1 else ''))
% else:
% include('paging', at=shown.page, pages=shown.pages, what='machines, above', address=lambda number: address(page=number if number > 1 else ''))
<form class="card" id="machines" method="post" action="/console/machines">
  % if may_order:
  <input type="hidden" name="csrf" value="{{request.session.csrf}}">
  <input type="hidden" name="back" value="{{here}}">
  % end
  <div class="scroll" tabindex="0" role="region" aria-label="Machines">
  <table class="machines">
    <thead><tr>
    % if may_order:
      <th class="fit"><input type="checkbox" data-all="machine" aria-label="Select all machines of this page"></th>
    % end
      <th aria-sort="{{direction('name')}}"><a href="{{sorted_by('name')}}">Machine</a></th>
    % if has_states:
      <th aria-sort="{{direction('state')}}"><a href="{{sorted_by('state')}}">State</a></th>
      <th class="roomy" aria-sort="{{direction('since')}}"><a href="{{sorted_by('since')}}">Since</a></th>
    % end
    % for name in shown.shown:
      <th class="roomy" aria-sort="{{direction(name)}}"><a href="{{sorted_by(name)}}">{{name}}</a></th>
    % end
    </tr></thead>
    <tbody id="rows" data-in-place="rows count" hx-get="{{here}}" hx-trigger="{{'' if is_current else 'load delay:1s, '}}every 3s" hx-select="#rows" hx-swap="outerHTML">
    % for machine in shown.machines:
    <tr data-key="{{machine.name}}">
    % if may_order:
      <td class="fit"><input type="checkbox" name="machine" value="{{machine.name}}" aria-label="Select {{machine.name}}"></td>
    % end
      <td class="name"><a href="{{machine_link(machine.name)}}">{{machine.name}}</a>
      % if machine.origin == 'unknown':
      <a class="adopt" href="{{link('/console/adopt', id=machine.name)}}" aria-label="Adopt {{machine.name}}">Adopt</a>
      % end
      % if machine.cells and machine.cells[0]:
        <div class="narrow muted">{{'' if is_mac(machine.cells[0]) else shown.shown[0] + ': '}}{{machine.cells[0]}}</div>
      % end
      </td>
    % if has_states:
      <td class="now"><span class="state {{machine.state}}">{{machine.state}}</span>
      % if machine.state == 'installing' and machine.percent is not None:
        <progress max="100" value="{{machine.percent}}" aria-label="Progress of {{machine.name}}">{{machine.percent}} %</progress>
      % end
      % if machine.since:
        <div class="narrow muted" title="{{exact(machine.since)}}">{{ago(machine.since)}}</div>
      % end
      % if machine.message:
        <div class="reason muted">{{machine.message}}</div>
      % end
      </td>
      <td class="fit roomy"><span title="{{exact(machine.since)}}">{{ago(machine.since)}}</span></td>
    % end
    % for cell in machine.cells:
      <td class="cell roomy{{' mac' if is_mac(cell) else ''}}">{{cell}}</td>
    % end
    </tr>
    % end
    </tbody>
  </table>
  </div>
  % if may_order:
  <div class="actions selection">
    <span id="selected" class="selected" aria-live="polite"></span>
    % if shown.found > len(shown.machines):
    <label class="all"><input type="checkbox" name="all" value="1"> all {{format(shown.found, ',')}}{{' matching' if shown.found != shown.total else ''}}</label>
    % end
    <button name="do" value="arm">Arm …</button>
    <button name="do" value="disarm">Disarm …</button>
    <button name="do" value="forget" class="danger">Forget …</button>
    <span class="hint roomy">Arm: the machine may install once more. Disarm: it counts as installed.</span>
  </div>
  % end
</form>
% include('paging', at=shown.page, pages=shown.pages, what='machines', address=lambda number: address(page=number if number > 1 else ''))
% end
