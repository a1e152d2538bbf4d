from .page import to_html as to_html
