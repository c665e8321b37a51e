{{- $pages := slice -}}
{{- range site.Pages }}{{ if .File -}}
{{- $headings := slice -}}
{{- range findRESubmatch `(?s)<h[2-4] id="([^"]+)">(.*?) <a class="anchor"` .Content }}{{ $headings = $headings | append (dict "id" (index . 1) "title" (index . 2 | plainify | htmlUnescape)) }}{{ end -}}
{{- $pages = $pages | append (dict "title" (partial "title.html" .) "url" (strings.TrimPrefix "/" .RelPermalink) "headings" $headings "text" (.Plain | htmlUnescape)) -}}
{{- end }}{{ end -}}
window.pages = {{ $pages | jsonify }};
