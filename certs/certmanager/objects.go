// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// group is the API group of cert-manager.
const group = "cert-manager.io"

// kind is a kind of cert-manager, with its name in errors.
type kind struct {
	name     string
	resource schema.GroupVersionResource
}

var (
	certificates = kind{certmanagerv1.CertificateKind, certmanagerv1.SchemeGroupVersion.WithResource("certificates")}
	issuers      = kind{certmanagerv1.IssuerKind, certmanagerv1.SchemeGroupVersion.WithResource("issuers")}
)

// desired is an object that must exist.
type desired struct {
	kind kind
	name string
	spec any
}

// The authority that is created where no issuer is named: an Issuer for self-signed certificates, the root,
// and the Issuer that signs with it.
func (o Options) bootstrapName() string { return o.Certificate + "-bootstrap" }
func (o Options) rootName() string      { return o.Certificate + "-root" }

// desiredObjects are the objects in the order in which cert-manager needs them. The Certificate is last.
func (o Options) desiredObjects() []desired {
	issuer := cmmeta.IssuerReference{Name: o.IssuerName, Kind: o.IssuerKind, Group: o.IssuerGroup}
	var all []desired
	if o.IssuerName == "" {
		issuer = cmmeta.IssuerReference{Name: o.Certificate, Kind: certmanagerv1.IssuerKind, Group: group}
		all = append(all,
			desired{issuers, o.bootstrapName(), certmanagerv1.IssuerSpec{
				IssuerConfig: certmanagerv1.IssuerConfig{SelfSigned: &certmanagerv1.SelfSignedIssuer{}},
			}},
			desired{certificates, o.rootName(), certmanagerv1.CertificateSpec{
				IsCA:       true,
				CommonName: o.rootName(),
				Subject:    &certmanagerv1.X509Subject{Organizations: []string{"fairlead.dev"}},
				Duration:   &metav1.Duration{Duration: o.RootValidity},
				SecretName: o.rootName(),
				IssuerRef:  cmmeta.IssuerReference{Name: o.bootstrapName(), Kind: certmanagerv1.IssuerKind, Group: group},
				PrivateKey: &certmanagerv1.CertificatePrivateKey{
					Algorithm: certmanagerv1.ECDSAKeyAlgorithm, Size: 384, RotationPolicy: certmanagerv1.RotationPolicyAlways,
				},
				RevisionHistoryLimit: ptr.To[int32](2),
			}},
			desired{issuers, o.Certificate, certmanagerv1.IssuerSpec{
				IssuerConfig: certmanagerv1.IssuerConfig{CA: &certmanagerv1.CAIssuer{SecretName: o.rootName()}},
			}},
		)
	}
	spec := certmanagerv1.CertificateSpec{
		Subject:     &certmanagerv1.X509Subject{Organizations: []string{"fairlead.dev"}},
		Duration:    &metav1.Duration{Duration: o.Validity},
		RenewBefore: &metav1.Duration{Duration: o.Validity / 3},
		SecretName:  o.SecretName,
		IssuerRef:   issuer,
		Usages:      []certmanagerv1.KeyUsage{certmanagerv1.UsageDigitalSignature, certmanagerv1.UsageServerAuth},
		PrivateKey: &certmanagerv1.CertificatePrivateKey{
			Algorithm: certmanagerv1.ECDSAKeyAlgorithm, Size: 256, RotationPolicy: certmanagerv1.RotationPolicyAlways,
		},
		RevisionHistoryLimit: ptr.To[int32](2),
	}
	for _, name := range o.names() {
		if net.ParseIP(name) != nil {
			spec.IPAddresses = append(spec.IPAddresses, name)
		} else {
			spec.DNSNames = append(spec.DNSNames, name)
		}
	}
	return append(all, desired{certificates, o.Certificate, spec})
}

// object returns the object to apply. It has no status.
func (d desired) object(namespace string) (*unstructured.Unstructured, error) {
	var spec map[string]any
	var err error
	switch typed := d.spec.(type) {
	case certmanagerv1.CertificateSpec:
		spec, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	case certmanagerv1.IssuerSpec:
		spec, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	}
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion(d.kind.resource.GroupVersion().String())
	object.SetKind(d.kind.name)
	object.SetNamespace(namespace)
	object.SetName(d.name)
	object.SetLabels(map[string]string{common.ManagedByLabel: common.ManagedBy})
	return object, nil
}

// FieldOwner is the server-side-apply field manager of the objects of cert-manager.
const FieldOwner = "fairlead-certificates"

var (
	// errNotInstalled marks that the API server does not serve the kinds of cert-manager.
	errNotInstalled = errors.New("cert-manager is not installed in this cluster")

	// errRefused marks a configuration that an administrator has to change.
	errRefused = errors.New("refused")
)

// ensureObjects ensures that the Certificate exists and matches the options. One that others have created
// is used as it is. Otherwise missing objects are created and, where update is set, those that the operator
// created are updated.
func (s *Source) ensureObjects(ctx context.Context, update bool) error {
	chain := s.options.desiredObjects()
	last := chain[len(chain)-1]
	existing, err := s.get(ctx, last)
	if err == nil && existing.GetLabels()[common.ManagedByLabel] != common.ManagedBy {
		return s.checkCertificate(existing)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return s.explain(last, err)
	}
	for _, one := range chain {
		if existing, err = s.ensureObject(ctx, one, update); err != nil {
			return s.explain(one, err)
		}
	}
	return s.checkCertificate(existing)
}

func (s *Source) get(ctx context.Context, one desired) (*unstructured.Unstructured, error) {
	return s.options.Dynamic.Resource(one.kind.resource).Namespace(s.options.Namespace).Get(ctx, one.name, metav1.GetOptions{})
}

func (s *Source) ensureObject(ctx context.Context, one desired, update bool) (*unstructured.Unstructured, error) {
	object, err := one.object(s.options.Namespace)
	if err != nil {
		return nil, err
	}
	existing, err := s.get(ctx, one)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, err
	case existing.GetLabels()[common.ManagedByLabel] != common.ManagedBy, !update, includes(existing.Object["spec"], object.Object["spec"]):
		return existing, nil
	}
	// Without force: changes that a user has made to our objects are kept.
	applied, err := s.options.Dynamic.Resource(one.kind.resource).Namespace(s.options.Namespace).Apply(ctx, one.name, object,
		metav1.ApplyOptions{FieldManager: FieldOwner})
	if apierrors.IsConflict(err) && existing != nil {
		s.options.Log.Info("used as it is, since another manager has changed it", "kind", one.kind.name, "name", one.name, "reason", err.Error())
		return existing, nil
	}
	if err == nil {
		s.options.Log.Info("asked cert-manager", "kind", one.kind.name, "namespace", s.options.Namespace, "name", one.name)
	}
	return applied, err
}

// includes reports whether existing has all fields of the wanted value.
func includes(existing, wanted any) bool {
	fields, ok := wanted.(map[string]any)
	if !ok {
		return fmt.Sprint(existing) == fmt.Sprint(wanted)
	}
	found, ok := existing.(map[string]any)
	if !ok {
		return false
	}
	for name, value := range fields {
		if !includes(found[name], value) {
			return false
		}
	}
	return true
}

// checkCertificate checks that the Certificate matches the options, regardless of who created it.
func (s *Source) checkCertificate(object *unstructured.Unstructured) error {
	var certificate certmanagerv1.Certificate
	refuse := func(format string, a ...any) error {
		return retry.Bounded(fmt.Errorf("certificate %s/%s: %w: %w", s.options.Namespace, s.options.Certificate, errRefused,
			fmt.Errorf(format, a...)))
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &certificate); err != nil {
		return refuse("cannot be read: %w", err)
	}
	spec := certificate.Spec
	if spec.SecretName != s.options.SecretName {
		return refuse("spec.secretName is %[1]q, but the operator reads %[2]q: set webhook.certificates.certManager.secretName to %[1]q, and let the operator get and watch that Secret",
			spec.SecretName, s.options.SecretName)
	}
	good := x509.Certificate{DNSNames: spec.DNSNames}
	for _, address := range spec.IPAddresses {
		good.IPAddresses = append(good.IPAddresses, net.ParseIP(address))
	}
	for _, name := range append([]string{s.options.serverName()}, s.options.ExtraNames...) {
		if good.VerifyHostname(name) == nil {
			continue
		}
		at := "dnsNames"
		if net.ParseIP(name) != nil {
			at = "ipAddresses"
		}
		return refuse("spec.%s lacks %q: add it, or let the operator make a Certificate of another name (webhook.certificates.certManager.certificate)", at, name)
	}
	return nil
}

// explain adds the object, and the remedy where it is known.
func (s *Source) explain(one desired, err error) error {
	identity := fmt.Sprintf("%s %s/%s", one.kind.name, s.options.Namespace, one.name)
	switch {
	case apierrors.IsNotFound(err) && s.isNotInstalled():
		return retry.Bounded(fmt.Errorf("%s: %w: the API server does not serve %s: install cert-manager, or choose webhook.certificates.source: selfSigned, or allow webhook.certificates.certManager.fallback",
			identity, errNotInstalled, one.kind.resource.GroupVersion()))
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: cannot be made: create namespace %s: %w", identity, s.options.Namespace, err)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return retry.Bounded(fmt.Errorf("%s: the operator may not use it: allow its service account to create %s in namespace %s, and to get and patch %q (the roles of config/rbac do for the default names): %w",
			identity, one.kind.resource.Resource, s.options.Namespace, one.name, err))
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return retry.Bounded(fmt.Errorf("%s: cert-manager does not take it: %w", identity, err))
	}
	return fmt.Errorf("%s: %w", identity, err)
}

// isNotInstalled reports whether the kinds are not served at all, which returns the same error as an object
// that is not found.
func (s *Source) isNotInstalled() bool {
	_, err := s.options.Client.Discovery().ServerResourcesForGroupVersion(certmanagerv1.SchemeGroupVersion.String())
	return apierrors.IsNotFound(err)
}
