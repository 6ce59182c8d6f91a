% rebase('layout', title='Access', current='/console/access')
<div class="head"><h1>Access</h1><span class="sub">You are {{request.session.who}}, with the role {{request.session.role}}.</span></div>
% if message:
<p class="note {{'bad' if failed else 'good'}}" role="alert">{{message}}</p>
% end
<section class="card" aria-labelledby="tokens"><h2 id="tokens">Tokens</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Table of tokens"><table class="stack">
<thead><tr><th>Name</th><th>Role</th></tr></thead><tbody>
% for name, role in tokens:
<tr><td class="mono">{{name or 'SERVICE_ADMIN_TOKEN'}}</td><td>{{role}}</td></tr>
% end
</tbody></table></div>
<p class="muted"><code>answerd token NAME --role ROLE</code> makes one. To take one back, remove its line from the file of tokens: its sessions and streams end when the service has reloaded.</p>
</section>
<section class="card" aria-labelledby="secrets"><h2 id="secrets">Secrets</h2>
% if secrets:
<ul class="list names">
% for place, fault in secrets:
<li><code>{{place}}</code>
% if fault:
<span class="state problem">cannot be read</span> {{fault}}
% end
</li>
% end
</ul>
% else:
<p class="muted">There is none.</p>
% end
<p class="muted">A document uses one as <code>{{'{{ secret.NAME }}'}}</code>. Its value is shown here to nobody.</p>
% if why_not:
<p class="note">No secret can be written here: {{why_not}}.</p>
% else:
<form method="post" action="/console/access" autocomplete="off">
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}">
<div class="row">
<div class="field"><label for="secret">Name</label><input id="secret" name="secret" value="{{request.field('secret')}}" required pattern="[A-Za-z0-9_\-]+" placeholder="root-hash"></div>
<div class="field"><label for="machine">Of the machine <span class="hint">empty: of all</span></label><input id="machine" name="machine" value="{{request.field('machine')}}"></div>
</div>
<p></p>
<div class="field"><label for="value">Value <span class="hint">replaces the one that is there</span></label><textarea id="value" name="value" rows="3" required spellcheck="false" autocomplete="off">
{{request.field("value")}}</textarea></div>
<div class="actions"><button class="main" name="do" value="secret">Write the secret</button></div>
</form>
% end
</section>
<section class="card" aria-labelledby="roles"><h2 id="roles">Roles</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Table of roles"><table class="stack last">
<thead><tr><th>Role</th><th>May</th></tr></thead><tbody>
% for role, words in may.items():
<tr><td>{{role}}</td><td>{{words.replace('`', '')}}</td></tr>
% end
</tbody></table></div></section>
