// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"fmt"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// readIssued reads the Secret that cert-manager has filled for the Certificate. What an administrator must repair is a bounded error:
// it is retried for a limited time only.
func (s *Source) readIssued(ctx context.Context) (*keypair.Pair, error) {
	identity := s.options.secret()
	secret, err := s.secrets.Get(ctx, s.options.SecretName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, retry.Bounded(fmt.Errorf("%s: does not exist yet", identity))
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil, retry.Bounded(fmt.Errorf("%s: the operator may not read it: allow its service account to get and watch it by name (the roles of config/rbac do for the default name): %w", identity, err))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", identity, err)
	}
	found, err := keypair.Parse(keypair.Contents{
		Certificate: secret.Data[certs.CertKey], Key: secret.Data[certs.PrivateKey], CA: secret.Data[certs.CAKey],
	}, s.options.serverName(), s.options.Clock.Now())
	if err != nil {
		return nil, retry.Bounded(fmt.Errorf("%s: %w", identity, err))
	}
	return found, nil
}

// explainUnusable adds to an error about the Secret what the conditions of its Certificate and Issuer say. It returns the error
// unchanged if the Certificate cannot be read.
func (s *Source) explainUnusable(ctx context.Context, err error) error {
	object, getErr := s.options.Dynamic.Resource(certificates.resource).Namespace(s.options.Namespace).Get(ctx,
		s.options.Certificate, metav1.GetOptions{})
	if getErr != nil {
		return err
	}
	var certificate certmanagerv1.Certificate
	if convertErr := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &certificate); convertErr != nil {
		return err
	}
	ready := conditionSummary(certificate.Status.Conditions)
	if issuer := s.issuerProblem(ctx, certificate.Spec.IssuerRef); issuer != "" {
		ready += "; " + issuer
	}
	return retry.Bounded(fmt.Errorf("%w; certificate %s/%s: %s (kubectl describe certificate -n %s %s says more)",
		err, s.options.Namespace, s.options.Certificate, ready, s.options.Namespace, s.options.Certificate))
}

// conditionSummary returns the conditions Ready and Issuing of a Certificate in one line.
func conditionSummary(conditions []certmanagerv1.CertificateCondition) string {
	ready, issuing := "", ""
	for _, one := range conditions {
		switch {
		case one.Type == certmanagerv1.CertificateConditionReady && one.Status == cmmeta.ConditionTrue:
			ready = "is ready"
		case one.Type == certmanagerv1.CertificateConditionReady:
			ready = fmt.Sprintf("is not ready, %s: %s", one.Reason, one.Message)
		case one.Type == certmanagerv1.CertificateConditionIssuing:
			issuing = fmt.Sprintf("issuing is %s, %s: %s", one.Status, one.Reason, one.Message)
		}
	}
	switch {
	case ready == "" && issuing == "":
		return "cert-manager has not looked at it yet; are its controllers running?"
	case ready == "":
		return issuing
	case issuing == "" || strings.HasSuffix(issuing, strings.TrimPrefix(ready, "is not ready, ")):
		return ready
	}
	return ready + "; " + issuing
}

// issuerProblem returns why an Issuer of the operator's namespace is not ready. It is empty if the Issuer is ready, cannot be read, or
// is of another kind.
func (s *Source) issuerProblem(ctx context.Context, reference cmmeta.IssuerReference) string {
	if reference.Kind != certmanagerv1.IssuerKind || reference.Group != group {
		return ""
	}
	identity := "issuer " + s.options.Namespace + "/" + reference.Name
	object, err := s.options.Dynamic.Resource(issuers.resource).Namespace(s.options.Namespace).Get(ctx, reference.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return identity + " does not exist: create it, or leave webhook.certificates.certManager.issuerName empty to have one made"
	}
	var found certmanagerv1.Issuer
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &found) != nil {
		return ""
	}
	for _, one := range found.Status.Conditions {
		if one.Type == certmanagerv1.IssuerConditionReady && one.Status != cmmeta.ConditionTrue {
			return fmt.Sprintf("%s is not ready, %s: %s", identity, one.Reason, one.Message)
		}
	}
	return ""
}
