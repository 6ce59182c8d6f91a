<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="name" value="{{name}}">
<div class="field"><label for="rows">Rows <span class="hint">with the line of column names first, as a spreadsheet copies them, or CSV; paste here</span></label><textarea id="rows" name="text" rows="5" spellcheck="false">
{{text}}</textarea></div>
<div class="row"><div class="field wide"><label for="file">Or a file of CSV <span class="hint">drop it here; it counts in place of the text</span></label><input id="file" name="file" type="file" accept=".csv,.tsv,.txt,text/csv"></div>
<div class="field"><label for="mode">What to do with them</label><select id="mode" name="mode">
% for value, words in (('add', 'Add new rows'), ('update', 'Update rows, and add new ones'), *((('replace', 'Replace all rows'),) if may_replace else ())):
<option value="{{value}}"{{!' selected' if value == mode else ''}}>{{words}}</option>
% end
</select></div>
<div class="field"><label for="note">Note</label><input id="note" name="note" maxlength="500"></div>
<div><button name="do" value="upload">See what it changes</button></div></div>
