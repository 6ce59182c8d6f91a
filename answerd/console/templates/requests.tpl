% if rate:
<%
most = max(*rate, 1)
%>
<div class="rate"><div class="scale" aria-hidden="true"><span>{{format(most, ',')}}/s</span><span>0</span></div>
<svg class="spark" viewBox="0 0 300 44" preserveAspectRatio="none" role="img" aria-label="Requests per second over the last {{len(rate)}} seconds, at most {{max(rate)}}"><path d="M0 2H300M0 42H300" class="grid-line" fill="none" stroke="currentColor" vector-effect="non-scaling-stroke"/><polyline points="{{points(rate)}}" fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke"/></svg>
<div class="scale times" aria-hidden="true"><span>{{len(rate)}} s ago</span><span>now</span></div></div>
<p class="muted">{{counted(rate[-1], 'request')}} in the last second, {{format(sum(rate), ',')}} in the last {{len(rate)}} seconds</p>
% end
% if not lines:
<div class="empty"><h2>Nothing has asked yet</h2><p>Power on a machine, or <a href="/console/try">try a request</a> by hand.</p></div>
% else:
<div class="scroll" tabindex="0" role="region" aria-label="Last requests"><table class="stack feed"><thead><tr><th>When</th><th>Machine</th><th>What happened</th><th>Status</th><th>Request</th></tr></thead><tbody>
% for line in lines:
<tr data-key="{{line.at}} {{line.machine}}"><td class="fit"><span title="{{exact(line.at)}}">{{ago(line.at)}}</span></td><td class="name">\\
% if line.machine:
<a href="{{machine_link(line.machine)}}">{{line.machine}}</a>\\
% else:
<span class="mono">{{line.peer}}</span>\\
% end
</td><td><span class="words" title="{{line.words}}">{{line.words}}</span></td><td class="fit"><span class="state {{'problem' if line.is_bad else 'ok'}}">{{line.status or 'none'}}</span></td><td class="request mono" title="{{line.request}}"><span>{{line.request}}</span></td></tr>
% end
</tbody></table></div>
% end
