{{- /* Refuses fields of the configuration that do not go with the objects of the chart: the operator would not be reached,
have no rights, or not be what a value says. Each has the values that it may have all the same. */ -}}
{{- define "fairlead.fixed" -}}
{{- $names := "objects have the names that fullnameOverride and nameOverride give them" }}
{{- $rights := "the operator has rights to this one alone" }}
{{- $fields := list
  (list "apiVersion" (list "config.fairlead.dev/v1alpha1") "this is the version that there is")
  (list "kind" (list "FairleadConfiguration") "this is the kind that there is")
  (list "kinds" (list .Values.kinds) "set the value kinds, by which the chart has CRDs, webhooks and roles")
  (list "chaosPods.canaries" (list .Values.canaries) "set the value canaries, which has the right as well")
  (list "webhook.enabled" (list true) "layout says which Deployment serves webhooks")
  (list "controllers.enabled" (list true) "layout says which Deployment reconciles")
  (list "webhook.host" (list "0.0.0.0" "::") "the Service leads to the addresses of the pods")
  (list "webhook.configurations" (list (include "fairlead.configurations" . | fromYamlArray)) $names)
  (list "service.name" (list (printf "%s-webhook" (include "fairlead.fullname" .))) $names)
  (list "service.namespace" (list .Release.Namespace) "it is that of the release")
  (list "webhook.certificates.source" (list .Values.certificates.source) "set certificates.source, which has no folder")
  (list "webhook.certificates.injectCA" (list (not .Values.certificates.caInjector)) "set certificates.caInjector")
  (list "webhook.certificates.secretName" (list "fairlead-webhook-ca") $rights)
  (list "webhook.certificates.certManager.certificate" (list "fairlead-webhook") $rights)
  (list "webhook.certificates.certManager.secretName" (list "fairlead-webhook-tls") $rights)
  (list "rebootPolicies.fingerprintSecret" (list "fairlead-fingerprint-key") $rights)
  (list "rebootPolicies.sources" (list (eq .Values.secrets "wide" | ternary "Watch" "Poll")) "set secrets, which grants the rights as well")
  (list "calendar.configMap" (list "fairlead-calendar") $rights)
  (list "leaderElection.leaderElect" (list true) "each Deployment has several replicas, or two during an update")
  (list "leaderElection.resourceName" (list "fairlead-manager") $rights)
  (list "leaderElection.resourceNamespace" (list .Release.Namespace) $rights)
  (list "leaderElection.id" list "all replicas would have it")
  (list "clusterAccess" (list (empty .Values.namespaces)) "set namespaces")
}}
{{- if .Values.namespaces }}
{{- $fields = append $fields (list "namespaces" (list .Values.namespaces) "set the value namespaces, which has Roles as well") }}
{{- $fields = append $fields (list "egress.clusterCIDRs" (list .Values.clusterCIDRs) "set the value clusterCIDRs") }}
{{- end }}
{{- if or .Values.serviceMonitor.enabled .Values.podMonitor.enabled }}
{{- $fields = append $fields (list "metrics.certDir" (list "/etc/metrics-certificate") "monitors verify the certificate of the Secret fairlead-metrics-tls") }}
{{- $fields = append $fields (list "metrics.secure" (list true) "monitors read metrics over TLS") }}
{{- end }}
{{- range $fields }}
{{- $value := $.Values.configuration }}
{{- range splitList "." (first .) }}
{{- if kindIs "map" $value }}{{ $value = get $value . }}{{ else }}{{ $value = "" }}{{ end }}
{{- end }}
{{- if and (ne (toJson $value) (toJson "")) (not (has $value (index . 1))) }}
{{- fail (printf "configuration.%s: %v does not go with the chart: %s" (first .) $value (last .)) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The ports of a pod, by which the operator is configured. Those that are not served keep the shipped number. */ -}}
{{- define "fairlead.ports" -}}
{{- $configuration := include "fairlead.configuration" . | fromYaml }}
webhook: {{ $configuration.webhook.port }}
metrics: {{ regexFind "[0-9]+$" (eq $configuration.metrics.bindAddress "0" | ternary ":8443" $configuration.metrics.bindAddress) }}
probes: {{ regexFind "[0-9]+$" $configuration.health.bindAddress }}
{{- end -}}

{{- /* Refuses ports that Services, monitors and the kubelet do not reach. */ -}}
{{- define "fairlead.reached" -}}
{{- $configuration := include "fairlead.configuration" . | fromYaml }}
{{- $metrics := $configuration.metrics.bindAddress }}
{{- if eq $metrics "0" }}
{{- if or .Values.serviceMonitor.enabled .Values.podMonitor.enabled }}
{{- fail "configuration.metrics.bindAddress: 0 leaves no metrics to monitor: set serviceMonitor.enabled and podMonitor.enabled to false" }}
{{- end }}
{{- $metrics = ":8443" }}
{{- end }}
{{- range $field, $address := dict "metrics.bindAddress" $metrics "health.bindAddress" $configuration.health.bindAddress }}
{{- if not (regexMatch "^(0\\.0\\.0\\.0|\\[::\\])?:[1-9][0-9]*$" $address) }}
{{- fail (printf "configuration.%s: %s is not reached at the address of the pod: write a colon and the port" $field $address) }}
{{- end }}
{{- end }}
{{- $ports := include "fairlead.ports" . | fromYaml }}
{{- range $name, $port := $ports }}
{{- if or (lt (int $port) 1) (gt (int $port) 65535) }}
{{- fail (printf "configuration: the port of %s is %v: it must be from 1 to 65535" $name $port) }}
{{- end }}
{{- end }}
{{- if ne (len (values $ports | uniq)) 3 }}
{{- fail (printf "configuration: webhook.port, metrics.bindAddress and health.bindAddress need a port each, and have %v, %v and %v" $ports.webhook $ports.metrics $ports.probes) }}
{{- end }}
{{- end -}}

{{- /* Refuses durations beyond the bounds that the schema has for them. */ -}}
{{- define "fairlead.bounded" -}}
{{- range $name, $schema := .schema.properties }}
{{- $path := print $.path "." $name }}
{{- $value := get $.values $name }}
{{- if kindIs "map" $value }}
{{- include "fairlead.bounded" (dict "schema" $schema "values" $value "path" $path) }}
{{- else if and $value (hasKey $schema "x-bounds") }}
{{- $least := first (get $schema "x-bounds") }}
{{- $most := last (get $schema "x-bounds") }}
{{- $seconds := include "fairlead.seconds" $value | float64 }}
{{- if lt $seconds (include "fairlead.seconds" $least | float64) }}
{{- fail (printf "%s: %s is too short: it must be at least %s" $path $value $least) }}
{{- else if and $most (gt $seconds (include "fairlead.seconds" $most | float64)) }}
{{- fail (printf "%s: %s is too long: it must be at most %s" $path $value $most) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A duration in seconds, which may be a fraction. */ -}}
{{- define "fairlead.seconds" -}}
{{- $seconds := 0.0 }}
{{- range regexFindAll "[0-9.]+[a-z]+" . -1 }}
{{- $unit := get (dict "h" 3600.0 "m" 60.0 "s" 1.0 "ms" 0.001 "us" 0.000001 "ns" 0.000000001) (regexFind "[a-z]+" .) }}
{{- $seconds = addf $seconds (mulf (regexFind "[0-9.]+" . | float64) $unit) }}
{{- end }}
{{- $seconds -}}
{{- end -}}

{{- /* How long a pod that serves webhooks has to stop: longer than the operator takes, which takes as long as the drain at least. */ -}}
{{- define "fairlead.grace" -}}
{{- $configuration := include "fairlead.configuration" . | fromYaml }}
{{- $stop := include "fairlead.seconds" $configuration.gracefulShutdownTimeout | float64 | ceil | int }}
{{- $drain := addf (include "fairlead.seconds" $configuration.webhook.drainDelay) (include "fairlead.seconds" $configuration.webhook.drainTimeout) | ceil | int }}
{{- if gt $drain $stop }}
{{- fail (printf "configuration.gracefulShutdownTimeout: %ds is less than webhook.drainDelay and webhook.drainTimeout, %ds together: requests would fail at each stop" $stop $drain) }}
{{- end }}
{{- add $stop 10 -}}
{{- end -}}
