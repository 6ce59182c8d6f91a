% rebase('layout', title='Search', current='')
<div class="head"><h1>Found for “{{text}}”</h1></div>
% if not machines.found and not documents:
<div class="card empty"><h2>Nothing</h2><p>No machine, row or document has it. <a href="{{link('/console/try', query=('mac=' if is_mac(text) else 'id=') + text)}}">Try a request</a> of it.</p></div>
% end
% if machines.found:
<section class="card" aria-labelledby="found-machines"><h2 id="found-machines">{{counted(machines.found, 'machine')}}</h2>
<ul class="list">
% for machine in machines.machines[:most]:
<li><a href="{{machine_link(machine.name)}}">{{machine.name}}</a> <span class="state {{machine.state}}">{{machine.state}}</span> <span class="muted">{{machine.message or ', '.join(filter(None, machine.cells))}}</span></li>
% end
</ul>
% if machines.found > most:
<p><a href="{{link('/console/machines', q=text)}}">All {{format(machines.found, ',')}}</a></p>
% end
</section>
% end
% if documents:
<section class="card" aria-labelledby="found-documents"><h2 id="found-documents">Documents</h2>
<ul class="list">
% for one in documents[:most]:
<li><a href="{{document_link(one.kind, one.identifier, one.format)}}">{{one.identifier or 'default'}}</a> <span class="muted">{{one.kind}}, {{one.format}}</span></li>
% end
</ul>
% if len(documents) > most:
<p><a href="{{link('/console/documents', q=text)}}">All {{format(len(documents), ',')}}</a></p>
% end
</section>
% end
