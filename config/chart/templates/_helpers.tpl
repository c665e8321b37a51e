{{- /* Refuses values that lack one of the defaults, or have a null in its place, at any depth. Helm takes a default away
for a key that is left blank, and all that the chart before did not have for --reuse-values: `keep: true` would silently
be false. In resources, which are fields of a container, a null takes out the default as Helm documents. */ -}}
{{- define "fairlead.present" -}}
{{- range $name, $default := .defaults }}
{{- $path := print $.path $name }}
{{- $value := index $.values $name }}
{{- if kindIs "invalid" $value }}
{{- fail (printf "%s has no value, not even the default. Where it is null, which a blank is, leave it out or set it; where the values are of an older chart, give --reset-then-reuse-values in place of --reuse-values" $path) }}
{{- end }}
{{- if and (kindIs "map" $default) (kindIs "map" $value) (ne $path "resources") }}
{{- include "fairlead.present" (dict "defaults" $default "values" $value "path" (print $path ".")) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "fairlead.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "fairlead.configuration" -}}
{{- mergeOverwrite (.Files.Get "files/config.yaml" | fromYaml) .Values.configuration | toYaml -}}
{{- end -}}

{{- define "fairlead.checksum" -}}
{{- include "fairlead.configuration" . | sha256sum -}}
{{- end -}}

{{- /* Arguments that follow those of every Deployment. */ -}}
{{- define "fairlead.arguments" -}}
{{- if eq .Values.certificates.source "certManager" }}
- --webhook-certificates=certManager
{{- end }}
{{- if .Values.certificates.caInjector }}
- --webhook-inject-ca=false
{{- end }}
{{- if or .Values.serviceMonitor .Values.podMonitor }}
- --metrics-cert-dir=/etc/metrics-certificate
{{- end }}
{{- end -}}

{{- /* And those of the Deployment that reconciles. */ -}}
{{- define "fairlead.reconcilerArguments" -}}
{{- if eq .Values.secrets "wide" }}
- --sources=Watch
{{- end }}
{{- end -}}

{{- define "fairlead.volumes" -}}
{{- if or .Values.serviceMonitor .Values.podMonitor }}
- name: metrics
  secret:
    secretName: fairlead-metrics-tls
{{- end }}
{{- end -}}

{{- define "fairlead.volumeMounts" -}}
{{- if or .Values.serviceMonitor .Values.podMonitor }}
- name: metrics
  mountPath: /etc/metrics-certificate
  readOnly: true
{{- end }}
{{- end -}}

{{- define "fairlead.clusterCIDRs" -}}
--cluster-cidrs={{ join "," .Values.clusterCIDRs }}
{{- end -}}

{{- define "fairlead.pod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Annotations of what the operator publishes its authority in. */ -}}
{{- define "fairlead.injection" -}}
{{- if .Values.certificates.caInjector }}
cert-manager.io/inject-ca-from-secret: {{ .Release.Namespace }}/fairlead-webhook-trust
{{- end }}
{{- end -}}

{{- define "fairlead.definition" -}}
{{- include "fairlead.injection" . -}}
{{- if ne (toString .Values.crds.keep) "false" }}
helm.sh/resource-policy: keep
{{- end }}
{{- end -}}

{{- define "fairlead.webhooks" -}}
{{- with include "fairlead.injection" . -}}
annotations:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Metadata of what `helm test` needs: it is made before the Pod, and is gone after it. */ -}}
{{- define "fairlead.test" -}}
labels:
  app.kubernetes.io/name: fairlead-check
  app.kubernetes.io/managed-by: {{ .Release.Service }}
annotations:
  helm.sh/hook: test
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
