% rebase('layout', title='Access', current='/console/settings')
<div class="head"><h1>Access</h1><span class="sub">You are {{request.session.who}}, with the role {{request.session.role}}.</span></div>
<section class="card" aria-labelledby="tokens"><h2 id="tokens">Tokens</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Tokens"><table class="stack">
<thead><tr><th>Name</th><th>Role</th></tr></thead><tbody>
% for name, role in tokens:
<tr><td class="mono">{{name or 'SERVICE_ADMIN_TOKEN'}}</td><td>{{role}}</td></tr>
% end
</tbody></table></div>
<p class="muted"><code>answerd token NAME --role ROLE</code> makes one. A line that is taken out of the file of tokens ends its sessions and streams once the service has reloaded.</p>
</section>
<section class="card" aria-labelledby="roles"><h2 id="roles">Roles</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Roles"><table class="stack">
<thead><tr><th>Role</th><th>May</th></tr></thead><tbody>
% for role, words in may.items():
<tr><td>{{role}}</td><td>{{words.replace('`', '')}}</td></tr>
% end
</tbody></table></div></section>
