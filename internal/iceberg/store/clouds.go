//go:build !noclouds

package store

import (
	"context"
	"fmt"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
)

func init() {
	openers["gs"] = openGoogle
	openers["abfs"], openers["abfss"] = openAzure, openAzure
}

// openGoogle opens a bucket of Google Cloud Storage with Google's application default credentials.
func openGoogle(ctx context.Context, name string) (*blob.Bucket, error) {
	keys, err := gcp.DefaultCredentials(context.WithoutCancel(ctx))
	if err != nil {
		return nil, fmt.Errorf("find Google's application default credentials (GOOGLE_APPLICATION_CREDENTIALS): %w", err)
	}
	client, err := gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(keys))
	if err != nil {
		return nil, err
	}
	return gcsblob.OpenBucket(context.WithoutCancel(ctx), client, name, nil)
}

// openAzure opens a container: container@account.dfs.core.windows.net. Keys come from AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN,
// AZURE_STORAGE_CONNECTION_STRING, or Azure's default credentials.
func openAzure(_ context.Context, authority string) (*blob.Bucket, error) {
	container, host, _ := strings.Cut(authority, "@")
	account, domain, ok := strings.Cut(host, ".")
	if !ok || container == "" {
		return nil, fmt.Errorf("%q is not container@account.dfs.core.windows.net", authority)
	}
	o := azureblob.NewDefaultServiceURLOptions()
	o.AccountName, o.StorageDomain = account, strings.Replace(domain, "dfs.", "blob.", 1) // the same objects, by the API that has If-None-Match
	url, err := azureblob.NewServiceURL(o)
	if err != nil {
		return nil, err
	}
	client, err := azureblob.NewDefaultClient(url, azureblob.ContainerName(container))
	if err != nil {
		return nil, err
	}
	return azureblob.OpenBucket(context.Background(), client, nil)
}
