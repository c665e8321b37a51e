// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/certmanager"
	"github.com/fairlead-dev/fairlead/certs/folder"
	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/certs/selfsigned"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// origins makes the source of certificates that the configuration names.
type origins struct {
	config   *options.Configuration
	place    place
	clients  certificateClients
	patience time.Duration // with what waiting seldom heals
	onChange func()
	logger   logr.Logger
	clock    clock.WithTicker
	metrics  prometheus.Registerer
	observer *injection.Injector
}

func (s origins) folder() (certs.Source, error) {
	return folder.New(folder.Options{
		Path: s.config.Webhook.Certificates.Folder, ServerName: serverName(s.config, s.place), Wait: s.patience,
		OnChange: s.onChange, Clock: s.clock, Log: s.logger, Registerer: s.metrics,
	})
}

func (s origins) selfSigned() (certs.Source, error) {
	c := s.config.Webhook.Certificates
	options := selfsigned.Options{
		Client: s.clients.kubernetes, Namespace: s.place.namespace, Name: c.SecretName,
		Service: s.config.Service.Name, ExtraNames: c.DNSNames, DeniedPatience: s.patience / 2,
		LeafValidity: c.Validity.Duration, RootValidity: c.AuthorityValidity.Duration,
		OnChange: s.onChange, Clock: s.clock, Log: s.logger, Registerer: s.metrics,
	}
	if c.InjectCA {
		options.Observe = s.observer.Observed
	}
	return selfsigned.New(options)
}

func (s origins) certManager() (certs.Source, error) {
	c := s.config.Webhook.Certificates
	options := certmanager.Options{
		Client: s.clients.kubernetes, Dynamic: s.clients.dynamic, Namespace: s.place.namespace,
		Certificate: c.CertManager.Certificate, SecretName: c.CertManager.SecretName,
		IssuerName: c.CertManager.IssuerName, IssuerKind: c.CertManager.IssuerKind, IssuerGroup: c.CertManager.IssuerGroup,
		Service: s.config.Service.Name, ExtraNames: c.DNSNames, Patience: s.patience,
		Validity: c.Validity.Duration, RootValidity: c.AuthorityValidity.Duration, Observe: s.observer.Observed,
		OnChange: s.onChange, Clock: s.clock, Log: s.logger, Registerer: s.metrics,
	}
	options.Former = s.former
	if c.InjectCA {
		options.Publish = s.observer.Publish
	}
	if c.CertManager.Fallback {
		var err error
		if options.Fallback, err = s.selfSigned(); err != nil {
			return nil, err
		}
	}
	return certmanager.New(options)
}

// former are the authorities of the source selfSigned, where it was in use before: its replicas serve
// until the last of them has been replaced.
func (s origins) former(ctx context.Context) []byte {
	secret, err := s.clients.kubernetes.CoreV1().Secrets(s.place.namespace).Get(ctx, s.config.Webhook.Certificates.SecretName, metav1.GetOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) {
			s.logger.Info("who was trusted before is not known", "reason", err.Error())
		}
		return nil
	}
	return secret.Data[certs.CAKey]
}
