from pathlib import Path

from anthropic import AnthropicVertex

from .desk import review

if __name__ == "__main__":
    vertex = AnthropicVertex(region="europe-west1", project_id="press")
    for path in sorted(Path("articles").glob("*.txt")):
        print(review(vertex, path.read_text()))
