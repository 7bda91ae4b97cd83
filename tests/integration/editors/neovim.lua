local function log(...) io.stdout:write(table.concat({...}, " "), "\n") end
local root = vim.fn.getcwd()
vim.cmd("edit chat.py")
local chat = vim.api.nvim_get_current_buf()
local id = vim.lsp.start_client({name="promptlint", cmd={"promptlint","server"}, root_dir=root,
  workspace_folders={{uri=vim.uri_from_fname(root), name="chat"}}})
vim.lsp.buf_attach_client(chat, id)
vim.cmd("edit clock.py")
local clock = vim.api.nvim_get_current_buf()
vim.lsp.buf_attach_client(clock, id)
local function wait(f) assert(vim.wait(30000, f, 50), "timed out") end
local function show(what)
  log(what)
  for _, d in ipairs(vim.diagnostic.get(chat)) do
    local line = vim.api.nvim_buf_get_lines(chat, d.lnum, d.lnum+1, false)[1]
    log("  ", d.code, d.severity, d.lnum..":"..d.col.."-"..d.end_col, "["..line:sub(d.col+1, d.end_col).."]")
  end
end
wait(function() return #vim.diagnostic.get(chat) > 0 end)
local client = vim.lsp.get_client_by_id(id)
log("nvim", tostring(vim.version().major).."."..vim.version().minor.."."..vim.version().patch, "encoding", client.offset_encoding, "pull", tostring(client.server_capabilities.diagnosticProvider ~= nil))
show("after opening")
vim.api.nvim_buf_set_lines(clock, 4, 5, false, {"    return 'today'"})
wait(function() return #vim.diagnostic.get(chat) == 0 end)
show("clock without datetime.now(), unsaved")
vim.api.nvim_buf_set_lines(clock, 4, 5, false, {"    return datetime.now()"})
wait(function() return #vim.diagnostic.get(chat) > 0 end)
show("put back")
vim.api.nvim_buf_set_lines(chat, 0, 0, false, {"def broken(:", ""})
vim.wait(1500, function() return false end)
show("broken syntax above")
vim.api.nvim_buf_set_lines(chat, 0, 2, false, {})
vim.wait(1500, function() return false end)
-- hover
vim.api.nvim_set_current_buf(chat)
local d = vim.diagnostic.get(chat)[1]
vim.api.nvim_win_set_cursor(0, {d.lnum+1, d.col})
local p = vim.lsp.util.make_position_params(0, client.offset_encoding)
local r = vim.lsp.buf_request_sync(chat, "textDocument/hover", p, 20000)
log("hover:", r[id].result.contents.value)
local h = vim.lsp.buf_request_sync(chat, "textDocument/inlayHint", {textDocument=p.textDocument, range={start={line=0,character=0},["end"]={line=50,character=0}}}, 20000)
log("hint:", vim.inspect(h[id].result))
-- code action
local params = {textDocument=p.textDocument, range=d.user_data.lsp.range or {start={line=d.lnum,character=d.col},["end"]={line=d.lnum,character=d.col}}, context={diagnostics=vim.lsp.diagnostic.get_line_diagnostics(chat, d.lnum)}}
local a = vim.lsp.buf_request_sync(chat, "textDocument/codeAction", params, 20000)
for _, action in ipairs(a[id].result) do
  log("action:", action.title)
  if action.title:find("Ignore") then vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding) end
end
log(vim.api.nvim_buf_get_lines(chat, d.lnum, d.lnum+1, false)[1])
wait(function() return #vim.diagnostic.get(chat) == 0 end)
show("after the action")
-- a fix
vim.cmd("edit tools.py")
local tools = vim.api.nvim_get_current_buf()
vim.lsp.buf_attach_client(tools, id)
wait(function() return #vim.diagnostic.get(tools) > 0 end)
local t = vim.diagnostic.get(tools)[1]
log("tools:", t.code)
params = {textDocument={uri=vim.uri_from_bufnr(tools)}, range={start={line=t.lnum,character=0},["end"]={line=t.lnum,character=0}}, context={diagnostics=vim.lsp.diagnostic.get_line_diagnostics(tools, t.lnum), only={"quickfix"}}}
local f = vim.lsp.buf_request_sync(tools, "textDocument/codeAction", params, 30000)
log("fix:", f[id].result[1].title)
vim.lsp.util.apply_workspace_edit(f[id].result[1].edit, client.offset_encoding)
log(vim.api.nvim_buf_get_lines(tools, t.lnum, t.lnum+1, false)[1])
wait(function() return #vim.diagnostic.get(tools) == 0 end)
log("fixed")
local messages = vim.api.nvim_exec("messages", true)
if #messages > 0 then log("messages:", messages) end
client.stop()
vim.wait(500, function() return false end)
vim.cmd("qa!")
