// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// removed are the flags of earlier versions, with the field that each of them set.
var removed = map[string]string{
	"cache-sync-timeout": "controllers.cacheSyncTimeout", "calendar-config-map": "calendar.configMap",
	"cert-manager-certificate":  "webhook.certificates.certManager.certificate",
	"cert-manager-fallback":     "webhook.certificates.certManager.fallback",
	"cert-manager-issuer":       "webhook.certificates.certManager.issuerName",
	"cert-manager-issuer-group": "webhook.certificates.certManager.issuerGroup",
	"cert-manager-issuer-kind":  "webhook.certificates.certManager.issuerKind",
	"cert-manager-secret":       "webhook.certificates.certManager.secretName", "cluster-access": "clusterAccess",
	"cluster-cidrs": "egress.clusterCIDRs", "cluster-domain": "externalServices.clusterDomain", "concurrency": "controllers.concurrency",
	"controllers": "controllers.enabled", "dns-nameservers": "externalServices.nameservers",
	"drain-period": "externalServices.drainPeriod", "egress-default": "egress.default",
	"fingerprint-secret": "rebootPolicies.fingerprintSecret", "graceful-shutdown-timeout": "gracefulShutdownTimeout",
	"id": "leaderElection.id", "kube-api-burst": "clientConnection.burst", "kube-api-qps": "clientConnection.qps",
	"kube-api-start-timeout": "clientConnection.startTimeout", "leader-elect-lease-duration": "leaderElection.leaseDuration",
	"leader-elect-mode": "leaderElection.mode", "leader-elect-renew-deadline": "leaderElection.renewDeadline",
	"leader-elect-retry-period": "leaderElection.retryPeriod", "lease-lock-name": "leaderElection.resourceName",
	"lease-lock-namespace": "leaderElection.resourceNamespace", "max-restarts": "rebootPolicies.maxRestarts",
	"metrics-cert-dir": "metrics.certDir", "metrics-secure": "metrics.secure", "namespaces": "namespaces",
	"pprof-on-metrics": "profiling.onMetrics", "probe-workers": "externalServices.probeWorkers",
	"reboot-probe-workers": "rebootPolicies.probeWorkers", "resolve-workers": "externalServices.resolveWorkers",
	"service-namespace": "service.namespace", "shard": "shard.name", "shard-namespace-selector": "shard.namespaceSelector",
	"sources": "rebootPolicies.sources", "sources-poll-interval": "rebootPolicies.sourcesPollInterval",
	"storage-migration": "storageMigration.enabled", "storage-migration-rate": "storageMigration.rate",
	"storage-migration-settle": "storageMigration.settle", "warmup": "controllers.warmup",
	"webhook-authority-validity": "webhook.certificates.authorityValidity", "webhook-certificates": "webhook.certificates.source",
	"webhook-certificates-folder": "webhook.certificates.folder", "webhook-certificates-secret": "webhook.certificates.secretName",
	"webhook-certificates-validity": "webhook.certificates.validity", "webhook-client-ca-file": "webhook.clients.caFile",
	"webhook-client-names": "webhook.clients.names", "webhook-dns-names": "webhook.certificates.dnsNames",
	"webhook-drain-delay": "webhook.drainDelay", "webhook-drain-timeout": "webhook.drainTimeout", "webhook-host": "webhook.host",
	"webhook-inject-ca": "webhook.certificates.injectCA", "webhook-max-body-bytes": "webhook.maxBodyBytes",
	"webhook-port": "webhook.port", "webhook-tls-cipher-suites": "webhook.tls.cipherSuites",
	"webhook-tls-min-version": "webhook.tls.minVersion", "webhooks": "webhook.enabled",
}

// ExplainFlagError returns the error of a command line. Of a flag of an earlier version it names the field.
func ExplainFlagError(err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		if path, ok := removed[unknown.GetSpecifiedName()]; ok {
			return fmt.Errorf("--%s is no flag any more: set %s in the configuration file, or give --set=%[2]s=VALUE", unknown.GetSpecifiedName(), path)
		}
	}
	return err
}
