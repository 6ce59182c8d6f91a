% rebase('layout', title='Documents', current='/console/documents', again=0 if is_current else 1)
<%
columns = (('identifier', 'Document', ''), ('kind', 'Kind', ''), ('format', 'Format', ''), ('extends', 'Extends', 'roomy'), ('', 'Claims', ''), ('extended_by', 'Extended by', 'roomy'), ('problems', 'Problems', 'roomy'))
def sorted_by(column):
    down = not view.descending if view.sort == column else column in ('extended_by', 'problems')
    return link('/console/documents', q=view.search, kind=view.kind, sort=column, desc='1' if down else '')
end
def on_page(number):
    return link('/console/documents', q=view.search, kind=view.kind, sort=view.sort, desc='1' if view.descending else '', page=number if number > 1 else '')
end
def direction(column):
    return 'none' if view.sort != column else 'descending' if view.descending else 'ascending'
end
%>
<div class="head">
  <h1>Documents</h1>
  <span class="sub">{{store}}</span>
</div>
% if not writable:
<p class="note">This service reads a directory of files: documents are shown here and edited there. With <code>SERVICE_STORE=sqlite</code> they can be edited here.</p>
% elif not request.may_edit:
<p class="note">Your token may read documents. To change them takes one with the role admin.</p>
% end
<form class="card" method="get" action="/console/documents" role="search">
  <div class="row">
    <div class="field wide"><label for="q">Search</label><input id="q" name="q" value="{{view.search}}" placeholder="Name of a document"></div>
    <div class="field"><label for="kind">Kind</label><select id="kind" name="kind">
      <option value="">All but machines</option>
      % for option in kinds:
      <option{{!' selected' if option == view.kind else ''}}>{{option}}</option>
      % end
    </select></div>
    <div><button class="main">Show</button></div>
    % if writable and request.may_edit:
    <div><a class="button" href="/console/document/new">New document</a></div>
    % end
  </div>
</form>
<div id="listed"
% if not is_current:
 hx-get="{{request.address}}" hx-trigger="load delay:1s" hx-select="#listed" hx-swap="outerHTML"
% end
>
% if not shown.documents:
<div class="card empty"><h2>No document {{'matches' if view.search or view.kind else 'is there yet'}}</h2>
% if writable and request.may_edit:
<p>Write the first one: <a href="/console/document/new">new document</a>.</p>
% elif not writable:
<p>Put one into the answers directory; it appears here within a second.</p>
% end
</div>
% else:
<div class="card"><div class="scroll" tabindex="0" role="region" aria-label="Documents"><table>
<thead><tr>
% for column, heading, size in columns:
% if column:
<th class="{{size}}" aria-sort="{{direction(column)}}"><a href="{{sorted_by(column)}}">{{heading}}</a></th>
% else:
<th class="{{size}}">{{heading}}</th>
% end
% end
</tr></thead>
<tbody>
% for document in shown.documents:
<tr>
  <td><a href="{{document_link(document.kind, document.identifier, document.format)}}">{{document.identifier or 'default'}}</a>
  % if document.problems:
  <div class="narrow"><span class="state problem">{{counted(document.problems, 'problem')}}</span></div>
  % end
  </td>
  <td>{{document.kind}}</td><td>{{document.format}}</td>
  <td class="roomy">{{document.extends}}</td><td>{{document.claims}}</td><td class="roomy">{{document.extended_by or ''}}</td>
  <td class="roomy">
  % if document.problems:
  <span class="state problem">{{counted(document.problems, 'problem')}}</span>
  % end
  </td>
</tr>
% end
</tbody></table></div>
</div>
% include('paging', at=shown.page, pages=shown.pages, what='documents', address=on_page)
% end
</div>
