// Starts `promptlint server` and hands it to VS Code; everything else is the server's.

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

const SECTION = "promptlint";
const HELP = "Set promptlint.command";

let client: LanguageClient | undefined;

function command(): string[] {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  const given = vscode.workspace.getConfiguration(SECTION).get<string[]>("command", []);
  return given.map((part) => part.replaceAll("${workspaceFolder}", folder));
}

async function start(): Promise<void> {
  const [program, ...args] = command();
  if (program === undefined) {
    void vscode.window.showErrorMessage("promptlint.command is empty: it names what starts the language server.");
    return;
  }
  const server: ServerOptions = { command: program, args };
  const options: LanguageClientOptions = {
    documentSelector: [{ scheme: "file", language: "python" }],
    synchronize: {
      configurationSection: SECTION,
      fileEvents: vscode.workspace.createFileSystemWatcher("**/pyproject.toml"),
    },
  };
  client = new LanguageClient(SECTION, "promptlint", server, options);
  try {
    await client.start();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const text = `promptlint: "${program}" cannot be started (${reason}). pip install 'promptlint-cache[lsp]'`;
    if ((await vscode.window.showErrorMessage(text, HELP)) === HELP) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "promptlint.command");
    }
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  if (running?.isRunning()) {
    await running.stop();
  }
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("promptlint.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("promptlint.command")) {
        void restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}
