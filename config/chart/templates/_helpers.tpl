{{- /* Refuses values that lack one of the defaults, or have a null in its place, at any depth. Helm takes a default away
for a key that is left blank, and all that the chart before did not have for --reuse-values: `keep: true` would silently
be false. In what are fields of a pod or a container, a null takes out the default as Helm documents. */ -}}
{{- define "fairlead.present" -}}
{{- range $name, $default := .defaults }}
{{- $path := print $.path $name }}
{{- $value := index $.values $name }}
{{- if kindIs "invalid" $value }}
{{- fail (printf "%s has no value, not even the default. Where it is null, which a blank is, leave it out or set it; where the values are of an older chart, give --reset-then-reuse-values in place of --reuse-values" $path) }}
{{- end }}
{{- if and (kindIs "map" $default) (kindIs "map" $value) (not (has $path (list "global" "resources" "nodeSelector" "podSecurityContext" "securityContext"))) }}
{{- include "fairlead.present" (dict "defaults" $default "values" $value "path" (print $path ".")) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Refuses to install beside another installation: two write each other's CA bundles and reconcile the same objects.
What calls a Service that is gone, or is of this release, is no other installation: a release may move, and its prefix
may change. `helm template` finds nothing in the cluster and refuses nothing. */ -}}
{{- define "fairlead.alone" -}}
{{- range $crd := list "externalservices.networking.fairlead.dev" "rebootpolicies.autoreboot.fairlead.dev" "clusterrebootpolicies.autoreboot.fairlead.dev" "chaospods.chaos.fairlead.dev" }}
{{- $definition := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $crd }}
{{- include "fairlead.upgradable" (dict "root" $ "crd" $crd "version" (dig "metadata" "labels" "app.kubernetes.io/version" "" $definition)) }}
{{- $client := dig "spec" "conversion" "webhook" "clientConfig" dict $definition }}
{{- include "fairlead.own" (dict "root" $ "client" $client "what" (print "CustomResourceDefinition " $crd)) }}
{{- end }}
{{- range $configuration := (lookup "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" "" "").items }}
{{- if eq (dig "metadata" "labels" "app.kubernetes.io/name" "" $configuration) "fairlead" }}
{{- $hook := first $configuration.webhooks }}
{{- $shared := empty $.Values.namespaces }}
{{- $theirs := list }}
{{- range dig "namespaceSelector" "matchExpressions" list $hook }}
{{- if eq .operator "In" }}{{- $theirs = .values }}{{- end }}
{{- end }}
{{- if not $theirs }}{{- $shared = true }}{{- end }}
{{- range $theirs }}{{- if has . $.Values.namespaces }}{{- $shared = true }}{{- end }}{{- end }}
{{- if $shared }}
{{- include "fairlead.own" (dict "root" $ "client" $hook.clientConfig "what" (print "MutatingWebhookConfiguration " $configuration.metadata.name)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Refuses CRDs of a chart that is too old: the API server would drop the fields that ours lack from stored objects, at their
next write. 0.0.0 is a chart that no release made. */ -}}
{{- define "fairlead.upgradable" -}}
{{- $oldest := index .root.Chart.Annotations "fairlead.dev/upgrades-from" }}
{{- if and (regexMatch "^v?[0-9]+\\.[0-9]+\\.[0-9]+" .version) (not (regexMatch "^v?0\\.0\\.0" .version)) (semverCompare (print "<" $oldest "-0") .version) }}
{{- fail (printf "CustomResourceDefinition %s is of chart %s, and this one upgrades from %s on: fields of stored objects would be lost. Nothing was changed. Write the objects in the new form, which fairlead vet --live of this release names, uninstall with the CRDs, and install (docs/reference/api-promise.md)" .crd .version $oldest) }}
{{- end }}
{{- end -}}

{{- /* The names of the webhook configurations of all kinds. */ -}}
{{- define "fairlead.configurations" -}}
{{- range list "externalservice" "rebootpolicy" "clusterrebootpolicy" "chaospod" }}
- {{ $.Values.namePrefix }}fairlead-{{ . }}
{{- end }}
{{- end -}}

{{- /* The CRDs of the kinds, or with `out` of those that are left out. */ -}}
{{- define "fairlead.definitions" -}}
{{- range $kind, $definition := dict "ExternalService" "externalservices.networking.fairlead.dev" "RebootPolicy" "rebootpolicies.autoreboot.fairlead.dev" "ChaosPod" "chaospods.chaos.fairlead.dev" }}
{{- if ne (has $kind $.kinds) $.out }}
- {{ $definition }}
{{- if eq $kind "RebootPolicy" }}
- clusterrebootpolicies.autoreboot.fairlead.dev
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Refuses to leave out a kind that this release has in the cluster: its objects would stay, and nothing would take off
the finalizers of ExternalServices. */ -}}
{{- define "fairlead.leftOut" -}}
{{- range include "fairlead.definitions" (dict "kinds" .Values.kinds "out" true) | fromYamlArray }}
{{- $definition := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" . }}
{{- $service := dig "spec" "conversion" "webhook" "clientConfig" "service" dict $definition }}
{{- $of := dig "metadata" "annotations" dict $definition }}
{{- $calls := and (eq (get $service "namespace") $.Release.Namespace) (eq (get $service "name") (print $.Values.namePrefix "fairlead-webhook")) }}
{{- if or $calls (and (eq (get $of "meta.helm.sh/release-name") $.Release.Name) (eq (get $of "meta.helm.sh/release-namespace") $.Release.Namespace)) }}
{{- fail (printf "kinds: the CustomResourceDefinition %s of a kind that is left out is in the cluster. First, while the release still has the kind, run `kubectl delete crd %s`, which deletes its objects, and then upgrade (docs/guides/kinds.md#take-a-kind-out)" . .) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "fairlead.own" -}}
{{- $release := .root.Release }}
{{- with .client.service }}
{{- if not (and (eq .namespace $release.Namespace) (eq .name (print $.root.Values.namePrefix "fairlead-webhook"))) }}
{{- with lookup "v1" "Service" .namespace .name }}
{{- $of := .metadata.annotations | default dict }}
{{- if not (and (eq (get $of "meta.helm.sh/release-name") $release.Name) (eq (get $of "meta.helm.sh/release-namespace") $release.Namespace)) }}
{{- fail (printf "another installation of Fairlead is in this cluster: %s calls its Service %s/%s. A cluster has one installation: upgrade that one, or uninstall it first, which keeps the CRDs and their objects, and then install with --take-ownership (docs/guides/install.md#one-installation-in-a-cluster)" $.what .metadata.namespace .metadata.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The image of a release is the chart's, in no default of a value: --reuse-values would keep the former one. */ -}}
{{- define "fairlead.image" -}}
{{- $released := (index .Chart.Annotations "artifacthub.io/images" | fromYamlArray | first).image }}
{{- $digest := regexFind "@.*" $released | default (print ":" .Chart.AppVersion) }}
{{- with .Values.image -}}
{{ .repository | default (regexReplaceAll "(:[^/@]*)?(@.*)?$" $released "") }}{{ if .digest }}@{{ .digest }}{{ else if .tag }}:{{ .tag }}{{ else }}{{ $digest }}{{ end }}
{{- end -}}
{{- end -}}

{{- /* Labels that Helm recommends, beside those of the kustomizations. No selector names them, and no pod has them: a
chart of another version would roll every Deployment. */ -}}
{{- define "fairlead.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: fairlead
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
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
- --set=webhook.certificates.source=certManager
{{- end }}
{{- if .Values.certificates.caInjector }}
- --set=webhook.certificates.injectCA=false
{{- end }}
{{- if or .Values.serviceMonitor .Values.podMonitor }}
- --set=metrics.certDir=/etc/metrics-certificate
{{- end }}
{{- range $kind := list "ExternalService" "RebootPolicy" "ChaosPod" }}
{{- if not (has $kind $.Values.kinds) }}
- --without-kind={{ $kind }}
{{- end }}
{{- end }}
{{- if not .Values.canaries }}
- --set=chaosPods.canaries=false
{{- end }}
{{- end -}}

{{- /* And those of the Deployment that reconciles. */ -}}
{{- define "fairlead.reconcilerArguments" -}}
{{- if eq .Values.secrets "wide" }}
- --set=rebootPolicies.sources=Watch
{{- end }}
{{- end -}}

{{- define "fairlead.volumes" -}}
{{- if or .Values.serviceMonitor .Values.podMonitor }}
- name: metrics
  secret:
    secretName: fairlead-metrics-tls
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "fairlead.volumeMounts" -}}
{{- if or .Values.serviceMonitor .Values.podMonitor }}
- name: metrics
  mountPath: /etc/metrics-certificate
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "fairlead.env" -}}
{{- with .Values.env }}{{ toYaml . }}{{ end }}
{{- end -}}

{{- define "fairlead.clusterCIDRs" -}}
--set=egress.clusterCIDRs={{ join "," .Values.clusterCIDRs }}
{{- end -}}

{{- define "fairlead.pod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
nodeSelector:
  {{- include "fairlead.set" .Values.nodeSelector | nindent 2 }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "fairlead.set" .Values.podSecurityContext | nindent 2 }}
{{- end -}}

{{- /* What is set of a map in which a null takes a default out: Helm leaves nulls of a chart that depends on this one. */ -}}
{{- define "fairlead.set" -}}
{{- $set := dict }}
{{- range $name, $value := . }}
{{- if not (kindIs "invalid" $value) }}{{ $_ := set $set $name $value }}{{ end }}
{{- end }}
{{- toYaml $set -}}
{{- end -}}

{{- define "fairlead.securityContext" -}}
{{- include "fairlead.set" .Values.securityContext -}}
{{- end -}}

{{- define "fairlead.podLabels" -}}
{{- with .Values.podLabels }}{{ toYaml . }}{{ end }}
{{- end -}}

{{- define "fairlead.podAnnotations" -}}
{{- with .Values.podAnnotations }}{{ toYaml . }}{{ end }}
{{- end -}}

{{- define "fairlead.priorityClass" -}}
{{- if .Values.priorityClass.create }}
priorityClassName: {{ .Values.namePrefix }}fairlead-critical
{{- else if .Values.priorityClass.name }}
priorityClassName: {{ .Values.priorityClass.name | quote }}
{{- end }}
{{- end -}}

{{- /* Constraints for the Deployment of a component. */ -}}
{{- define "fairlead.spread" -}}
{{- $pods := dict "app.kubernetes.io/name" "fairlead" "app.kubernetes.io/component" (last .) }}
{{- $constraints := list }}
{{- range (first .).Values.topologySpreadConstraints }}
{{- $constraints = append $constraints (merge dict . (dict "labelSelector" (dict "matchLabels" $pods))) }}
{{- end }}
{{- toYaml $constraints -}}
{{- end -}}

{{- /* Where pods run, and how they are replaced, which the network of the node changes for those that serve webhooks. */ -}}
{{- define "fairlead.placement" -}}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "fairlead.servingPlacement" -}}
{{- if .Values.hostNetwork }}
hostNetwork: true
dnsPolicy: {{ .Values.dnsPolicy | default "ClusterFirstWithHostNet" }}
affinity:
  {{- $pods := dict "app.kubernetes.io/name" "fairlead" "fairlead.dev/webhooks" "true" }}
  {{- $apart := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" $pods) }}
  {{- $apart = dict "requiredDuringSchedulingIgnoredDuringExecution" (list $apart) }}
  {{- merge dict .Values.affinity (dict "podAntiAffinity" $apart) | toYaml | nindent 2 }}
{{- else }}
{{- include "fairlead.placement" . }}
{{- end }}
{{- end -}}

{{- define "fairlead.strategy" -}}
{{- .Values.strategy | default (dict "type" "RollingUpdate" "rollingUpdate" (dict "maxUnavailable" 0 "maxSurge" 1)) | toYaml -}}
{{- end -}}

{{- define "fairlead.servingStrategy" -}}
{{- if and .Values.hostNetwork (not .Values.strategy) }}
{{- dict "type" "RollingUpdate" "rollingUpdate" (dict "maxUnavailable" 1 "maxSurge" 0) | toYaml }}
{{- else }}
{{- include "fairlead.strategy" . }}
{{- end }}
{{- end -}}

{{- define "fairlead.serviceAccount" -}}
{{- with .Values.serviceAccount.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "fairlead.monitoringLabels" -}}
{{- with .Values.monitoringLabels }}{{ toYaml . }}{{ end }}
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
{{- with merge dict (include "fairlead.injection" . | fromYaml) .Values.webhookAnnotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Metadata of what `helm test` needs: it is made before the Pod, and is gone after it. */ -}}
{{- define "fairlead.test" -}}
labels:
  app.kubernetes.io/name: fairlead-check
  {{- include "fairlead.labels" . | nindent 2 }}
annotations:
  helm.sh/hook: test
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
