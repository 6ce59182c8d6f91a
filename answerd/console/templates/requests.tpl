% if rate:
<svg class="spark" viewBox="0 0 300 44" preserveAspectRatio="none" role="img" aria-label="Requests per second over the last {{len(rate)}} seconds, at most {{max(rate)}}"><polyline points="{{points(rate)}}" fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke"/></svg>
<p class="muted">{{counted(rate[-1], 'request')}} in the last second, {{format(sum(rate), ',')}} in the last {{len(rate)}} seconds</p>
% end
% if not lines:
<div class="empty"><h2>Nothing has asked yet</h2><p>Power on a machine, or <a href="/console/try">try a request</a> by hand.</p></div>
% else:
<div class="scroll" tabindex="0" role="region" aria-label="Last requests"><table class="stack"><thead><tr><th>When</th><th>From</th><th>Request</th><th>Status</th><th>Answer</th></tr></thead><tbody>
% for line in lines:
<tr><td class="fit"><span title="{{exact(line.at)}}">{{ago(line.at)}}</span></td><td class="fit mono">{{line.peer}}</td><td class="mono">{{line.request}}</td><td><span class="state {{'ok' if 200 <= line.status < 400 else 'problem'}}">{{line.status or 'none'}}</span></td><td>{{line.outcome}}</td></tr>
% end
</tbody></table></div>
% end
