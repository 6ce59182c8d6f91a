% rebase('layout', title='Machines', current='/console/machines')
<%
def sorted_by(column):
    down = view.sort == column and not view.descending
    return link('/console/machines', q=view.search, state=view.state, group=view.group, format=view.format, sort=column, desc='1' if down else '')
end
def on_page(number):
    return link('/console/machines', q=view.search, state=view.state, group=view.group, format=view.format, sort=view.sort if view.sort != 'name' else '', desc='1' if view.descending else '', page=number if number > 1 else '')
end
def direction(column):
    return '' if view.sort != column else 'descending' if view.descending else 'ascending'
end
%>
<div class="head">
  <h1>Machines</h1>
  <span class="sub">{{counted(shown.found, 'machine')}}{{' of ' + format(shown.total, ',') if shown.found != shown.total else ''}}</span>
</div>
<form class="card" method="get" action="/console/machines" role="search">
  <div class="row">
    <div class="field wide"><label for="q">Search</label><input id="q" name="q" value="{{view.search}}" placeholder="Name, MAC address, serial number, group"></div>
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
    <div class="field"><label for="format">Format</label>
      <select id="format" name="format"><option value="">Any</option>
      % for option in formats:
        <option{{!' selected' if option == view.format else ''}}>{{option}}</option>
      % end
      </select></div>
    <div><button class="main">Show</button></div>
  </div>
</form>
% if not shown.machines:
<div class="card empty">
  % if shown.total:
  <h2>No machine matches</h2>
  <p>Change the search, or <a href="/console/machines">show all {{counted(shown.total, 'machine')}}</a>.</p>
  % else:
  <h2>No machine is known yet</h2>
  <p>Add a document for a machine or a group with members under <a href="/console/documents">Documents</a>, or power on a machine: one that asks and is claimed by nothing appears here.</p>
  % end
</div>
% else:
<form class="card" method="post" action="/console/machines">
  <input type="hidden" name="csrf" value="{{request.session.csrf}}">
  <input type="hidden" name="back" value="{{on_page(shown.page)}}">
  <div class="scroll" tabindex="0" role="region" aria-label="Machines">
  <table class="machines">
    <thead><tr>
    % if has_states and request.may_operate:
      <th class="fit"><input type="checkbox" data-all="machine" aria-label="Select all machines of this page"></th>
    % end
      <th aria-sort="{{direction('name') or 'none'}}"><a href="{{sorted_by('name')}}">Machine</a></th>
    % if has_states:
      <th aria-sort="{{direction('state') or 'none'}}"><a href="{{sorted_by('state')}}">State</a></th>
      <th class="roomy" aria-sort="{{direction('since') or 'none'}}"><a href="{{sorted_by('since')}}">Since</a></th>
    % end
      <th{{!' class="roomy"' if has_states else ''}} aria-sort="{{direction('group') or 'none'}}"><a href="{{sorted_by('group')}}">Group</a></th>
      <th class="roomy">Formats</th><th class="roomy">Known from</th>
    </tr></thead>
    <tbody>
    % for machine, install in shown.machines:
    <tr>
    % if has_states and request.may_operate:
      <td class="fit"><input type="checkbox" name="machine" value="{{machine.name}}" aria-label="Select {{machine.name}}"></td>
    % end
      <td class="name"><a href="{{machine_link(machine.name)}}">{{machine.name}}</a>
      % if machine.known_from == 'unknown':
      <a class="narrow" href="{{link('/console/adopt', id=machine.name)}}" aria-label="Adopt {{machine.name}}">Adopt</a>
      % end
      </td>
    % if has_states:
      <td class="fit"><span class="state {{install.state}}">{{install.state}}</span>
      % if install.silent:
        <span class="state silent">silent</span>
      % end
      % if install.state == 'installing' and install.percent is not None:
        <progress max="100" value="{{install.percent}}" aria-label="Progress of {{machine.name}}">{{install.percent}} %</progress>
      % end
      % if install.message and install.state in ('failed', 'exhausted', 'installing', 'unknown'):
        <div class="reason muted" title="{{install.message}}">{{install.message}}</div>
      % end
      % if install.since:
        <div class="narrow muted" title="{{exact(install.since)}}">{{ago(install.since)}}</div>
      % end
      </td>
      <td class="fit roomy"><span title="{{exact(install.since)}}">{{ago(install.since)}}</span></td>
    % end
      <td class="group{{' roomy' if has_states else ''}}">{{', '.join(machine.groups) or (install.group if install else '')}}</td>
      <td class="roomy">{{', '.join(machine.formats)}}</td>
      <td class="roomy">
      % if machine.known_from == 'unknown':
      <a href="{{link('/console/adopt', id=machine.name)}}" aria-label="Adopt {{machine.name}}">Adopt</a>
      % else:
      {{machine.known_from}}
      % end
      </td>
    </tr>
    % end
    </tbody>
  </table>
  </div>
  % if has_states and request.may_operate:
  <div class="actions">
    <button name="do" value="arm">Arm</button>
    <button name="do" value="disarm">Disarm</button>
    <button name="do" value="forget" class="danger" data-confirm="Forget the selected machines and their history?">Forget</button>
    <span class="hint">Arm: the machine may install once more. Disarm: it counts as installed.</span>
  </div>
  % end
</form>
% if shown.pages > 1:
<nav class="actions" aria-label="Pages of machines">
  % if shown.page > 1:
  <a class="button" href="{{on_page(shown.page - 1)}}" rel="prev">Previous</a>
  % end
  <span class="muted">Page {{shown.page}} of {{shown.pages}}</span>
  % if shown.page < shown.pages:
  <a class="button" href="{{on_page(shown.page + 1)}}" rel="next">Next</a>
  % end
</nav>
% end
% end
