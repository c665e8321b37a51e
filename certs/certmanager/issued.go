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

	"github.com/fairlead-dev/fairlead/internal/retry"
)

// explainUnusable says what cert-manager has to say about a Secret that cannot be used: err says what is wrong
// with it.
func (s *Source) explainUnusable(ctx context.Context, err error) error {
	object, getErr := s.options.Dynamic.Resource(certificates.resource).Namespace(s.options.Namespace).Get(ctx, s.options.Certificate, metav1.GetOptions{})
	if getErr != nil {
		return err
	}
	var certificate certmanagerv1.Certificate
	if convertErr := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &certificate); convertErr != nil {
		return err
	}
	told := conditionSummary(certificate.Status.Conditions)
	if issuer := s.issuerProblem(ctx, certificate.Spec.IssuerRef); issuer != "" {
		told += "; " + issuer
	}
	return retry.Bounded(fmt.Errorf("certificate %s/%s: %s (kubectl describe certificate -n %s %s says more): %w",
		s.options.Namespace, s.options.Certificate, told, s.options.Namespace, s.options.Certificate, err))
}

// conditionSummary puts the conditions of a Certificate into one line.
func conditionSummary(conditions []certmanagerv1.CertificateCondition) string {
	told, said := "", ""
	for _, one := range conditions {
		switch {
		case one.Type == certmanagerv1.CertificateConditionReady && one.Status == cmmeta.ConditionTrue:
			told = "is ready"
		case one.Type == certmanagerv1.CertificateConditionReady:
			told = fmt.Sprintf("is not ready, %s: %s", one.Reason, one.Message)
		case one.Type == certmanagerv1.CertificateConditionIssuing:
			said = fmt.Sprintf("issuing is %s, %s: %s", one.Status, one.Reason, one.Message)
		}
	}
	switch {
	case told == "" && said == "":
		return "cert-manager has not looked at it yet; are its controllers running?"
	case told == "":
		return said
	case said == "" || strings.HasSuffix(said, strings.TrimPrefix(told, "is not ready, ")):
		return told
	}
	return told + "; " + said
}

// issuerProblem says what is wrong with an Issuer of the namespace, as far as the operator may look.
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
