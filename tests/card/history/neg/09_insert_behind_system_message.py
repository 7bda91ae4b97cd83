# card: history | expect: nothing | why: the hint is added at the end
import json
import os
import urllib.request

URL = "https://api.deepseek.com/chat/completions"


def post(messages: list[dict]) -> dict:
    body = json.dumps({"model": "deepseek-chat", "messages": messages}).encode()
    headers = {"Authorization": f"Bearer {os.environ['DEEPSEEK_API_KEY']}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(URL, body, headers)) as response:
        return json.load(response)["choices"][0]["message"]


def main() -> None:
    messages: list[dict] = [{"role": "system", "content": "You translate ship's papers. " * 300}]
    while page := input("page: "):
        hint = {"role": "user", "content": "Keep the numbers of the paragraphs."}
        messages.insert(len(messages), hint)
        messages.append({"role": "user", "content": page})
        messages.append(post(messages))


if __name__ == "__main__":
    main()
