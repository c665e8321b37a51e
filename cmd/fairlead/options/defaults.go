// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default returns the configuration of a file that says nothing.
func Default() *Configuration {
	return &Configuration{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
		ClientConnection: ClientConnection{
			QPS:          -1,
			Burst:        200,
			StartTimeout: duration(60 * time.Second),
		},
		Service: Service{Name: "fairlead-webhook"},
		Controllers: Controllers{
			Enabled: true,
			Concurrency: map[string]int{
				"ExternalService": 10,
				"RebootPolicy":    10,
				"ChaosPod":        2,
			},
			CacheSyncTimeout: duration(5 * time.Minute),
			Warmup:           true,
		},
		ExternalServices: defaultExternalServices(),
		RebootPolicies:   defaultRebootPolicies(),
		Calendar:         Calendar{ConfigMap: "fairlead-calendar"},
		StorageMigration: StorageMigration{Enabled: true, Rate: 20, Settle: duration(30 * time.Second)},
		Egress:           defaultEgress(),
		Webhook: Webhook{
			Enabled:      true,
			Port:         9443,
			MaxBodyBytes: 4 << 20,
			DrainDelay:   duration(10 * time.Second),
			DrainTimeout: duration(40 * time.Second),
			TLS:          TLS{MinVersion: "VersionTLS13"},
			Certificates: Certificates{
				Source:            SourceSelfSigned,
				SecretName:        "fairlead-webhook-ca",
				InjectCA:          true,
				Validity:          duration(7 * 24 * time.Hour),
				AuthorityValidity: duration(10 * 365 * 24 * time.Hour),
				CertManager: CertManager{
					IssuerKind: IssuerKind, IssuerGroup: "cert-manager.io",
					Certificate: "fairlead-webhook", SecretName: "fairlead-webhook-tls",
				},
			},
		},
		LeaderElection: LeaderElection{
			LeaderElect:   true,
			Mode:          ElectionLease,
			OnLost:        LostExit,
			ResourceName:  "fairlead-manager",
			LeaseDuration: duration(15 * time.Second),
			RenewDeadline: duration(10 * time.Second),
			RetryPeriod:   duration(2 * time.Second),
		},
		Metrics:                 Metrics{BindAddress: ":8443", Secure: true},
		Health:                  Health{BindAddress: ":8081"},
		Logging:                 Logging{Format: "json", Level: "info"},
		GracefulShutdownTimeout: duration(65 * time.Second),
	}
}

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
